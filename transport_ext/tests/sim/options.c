/* options.c: a driver's options by name, as programs and files give them. The generated options are
 * written as text and parsed again by our names, by Aeron's names, or from a properties file; the
 * result must be equal. */
#include "tests/sim/actors.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_LENGTH 192
#define LINE_LENGTH (RSTI_OPTION_TEXT_MAX + 128)

typedef struct search_t {
    const char *option;
    char property[96]; /* its name in Aeron; empty: none */
} search_t;

static void on_name(void *arg, const char *property, const char *variable, const char *option,
    const char *why)
{
    search_t *search = arg;
    (void)variable;
    (void)why;
    if (option != NULL && strcmp(option, search->option) == 0) {
        snprintf(search->property, sizeof search->property, "%s", property);
    }
}

/* Aeron uses other units for some options, so their text cannot be used under Aeron's name. */
static bool has_same_meaning(const rst_driver_params_t *wanted, const char *property,
    const char *option, const char *text)
{
    char read[RSTI_OPTION_TEXT_MAX];
    rst_driver_params_t other = *wanted;
    return rst_driver_params_set_aeron(&other, property, text, NULL, NULL) == 0
        && rst_driver_params_get(&other, option, read, sizeof read) == 0 && strcmp(read, text) == 0;
}

/* "name=value" for one option, by Aeron's name where the value means the same. */
static void write_line(const rst_driver_params_t *wanted, const char *option, char *line,
    size_t size)
{
    char text[RSTI_OPTION_TEXT_MAX];
    search_t search = {.option = option};
    if (rst_driver_params_get(wanted, option, text, sizeof text) < 0) {
        sim_fail("option %s has no text: %s", option, rst_last_error_text());
    }
    rst_driver_aeron_names(on_name, &search);
    if (search.property[0] != '\0' && has_same_meaning(wanted, search.property, option, text)) {
        snprintf(line, size, "%s=%s", search.property, text);
        return;
    }
    const int length = snprintf(line, size, "rstream.%s=%s", option, text);
    for (int i = 8; i < length && line[i] != '='; i++) {
        line[i] = line[i] == '-' ? '.' : line[i];
    }
}

static void on_notice(void *arg, const char *text)
{
    (void)arg;
    sim_fail("an option is not parsed as written: %s", text);
}

static void read_from_file(const sim_driver_t *driver, const rst_driver_params_t *wanted,
    rst_driver_params_t *read)
{
    char path[PATH_LENGTH];
    char line[LINE_LENGTH];
    snprintf(path, sizeof path, "%.127s/driver-%d.properties", actors.dir, driver->index);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        sim_fail("cannot write %s", path);
    }
    fprintf(file, "# options of a driver\n");
    for (const rst_driver_option_t *option = rst_driver_option_list(); option->name != NULL;
        option++) {
        write_line(wanted, option->name, line, sizeof line);
        fprintf(file, "%s\n", line);
    }
    if (fclose(file) != 0 || rst_driver_params_from_properties(read, path, on_notice, NULL) < 0) {
        sim_fail("driver %d: %s", driver->index, rst_last_error_text());
    }
    (void)unlink(path);
    sim_count("driver: options from a file of properties");
}

static void read_one_by_one(const rst_driver_params_t *wanted, rst_driver_params_t *read)
{
    char line[LINE_LENGTH];
    char text[RSTI_OPTION_TEXT_MAX];
    for (const rst_driver_option_t *option = rst_driver_option_list(); option->name != NULL;
        option++) {
        write_line(wanted, option->name, line, sizeof line);
        (void)rst_driver_params_get(wanted, option->name, text, sizeof text);
        const int result = sim_chance(RNG_OPTIONS, 0.5)
            ? rst_driver_params_set(read, option->name, text)
            : rst_driver_params_set_property(read, line, on_notice, NULL);
        if (result < 0) {
            sim_fail("%s: %s", line, rst_last_error_text());
        }
    }
    sim_count("driver: options by name");
}

void sim_options_read(sim_driver_t *driver)
{
    if (!sim_chance(RNG_OPTIONS, 0.1)) {
        return;
    }
    const rst_driver_params_t wanted = driver->params;
    rst_driver_params_t read;
    rsti_driver_params_init(&read);
    if (sim_chance(RNG_OPTIONS, 0.5)) {
        read_from_file(driver, &wanted, &read);
    } else {
        read_one_by_one(&wanted, &read);
    }
    for (const rst_driver_option_t *option = rst_driver_option_list(); option->name != NULL;
        option++) {
        char before[RSTI_OPTION_TEXT_MAX];
        char after[RSTI_OPTION_TEXT_MAX];
        (void)rst_driver_params_get(&wanted, option->name, before, sizeof before);
        (void)rst_driver_params_get(&read, option->name, after, sizeof after);
        if (strcmp(before, after) != 0) {
            sim_fail("option %s was %s and is parsed as %s", option->name, before, after);
        }
    }
    driver->params = read; /* the driver runs with the parsed options */
}
