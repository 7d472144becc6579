/* A driver with a flow-control strategy of its own: own_flow DIRECTORY. Ends
 * when its input ends and prints how many status messages the strategy has
 * seen. */
#include "rstream/driver.h"

#include <stdio.h>

static int64_t heard;

static int64_t on_status_message(void *state, const rst_flow_message_t *message,
                                 int64_t limit, int64_t now_ns) {
  (void)state;
  (void)now_ns;
  heard++;
  const int64_t proposed = message->position + message->window;
  return proposed > limit ? proposed : limit;
}

int main(int argc, char **argv) {
  const rst_flow_strategy_t strategy = {
      .struct_size = sizeof strategy,
      .name = "own",
      .on_status_message = on_status_message,
  };
  rst_driver_params_t *params;
  rst_driver_t *driver;
  if (argc != 2 || rst_flow_strategy_register(&strategy) < 0 ||
      rst_driver_params_create(&params) < 0 ||
      rst_driver_params_set(params, "dir", argv[1]) < 0 ||
      rst_driver_params_set(params, "unicast-flow-control", "own") < 0 ||
      rst_driver_open(&driver, params) < 0 || rst_driver_start(driver) < 0) {
    fprintf(stderr, "own_flow: %s\n", rst_last_error_text());
    return 1;
  }
  puts("ready");
  (void)fflush(stdout);
  (void)getchar();
  rst_driver_close(driver);
  rst_driver_params_destroy(params);
  printf("%lld\n", (long long)heard);
  return 0;
}
