/* types.h: the types and functions that module.c registers. */
#ifndef RSTI_PYTHON_TYPES_H
#define RSTI_PYTHON_TYPES_H

#include "state.h"

extern PyType_Spec rsti_py_driver_spec;
extern PyType_Spec rsti_py_client_spec;
extern PyType_Spec rsti_py_publication_spec;
extern PyType_Spec rsti_py_claim_spec;
extern PyType_Spec rsti_py_subscription_spec;
extern PyType_Spec rsti_py_batch_spec;
extern PyType_Spec rsti_py_message_spec;
extern PyType_Spec rsti_py_waiter_spec;
extern PyType_Spec rsti_py_counter_spec;
extern PyType_Spec rsti_py_turn_spec;
extern PyType_Spec rsti_py_visit_spec;
extern PyType_Spec rsti_py_send_state_spec;
extern PyType_Spec rsti_py_send_path_spec;

extern PyMethodDef rsti_py_tool_methods[];      /* tools.c */
extern PyMethodDef rsti_py_directory_methods[]; /* directory.c */
extern PyMethodDef rsti_py_bench_methods[];     /* bench_block.c */

#endif
