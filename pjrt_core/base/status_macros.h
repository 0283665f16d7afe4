// Early return of an error. The same text serves both Abseils that the project is built with.
#ifndef PJRT_CORE_BASE_STATUS_MACROS_H_
#define PJRT_CORE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define ONEXPU_STATUS_CONCAT_INNER_(a, b) a##b
#define ONEXPU_STATUS_CONCAT_(a, b) ONEXPU_STATUS_CONCAT_INNER_(a, b)

#define ONEXPU_RETURN_IF_ERROR(expression)           \
  do {                                               \
    ::absl::Status onexpu_status_ = (expression);    \
    if (!onexpu_status_.ok()) return onexpu_status_; \
  } while (false)

#define ONEXPU_ASSIGN_OR_RETURN_INNER_(statusor, target, expression) \
  auto statusor = (expression);                                      \
  if (!statusor.ok()) return statusor.status();                      \
  target = std::move(statusor).value()

// ONEXPU_ASSIGN_OR_RETURN(auto value, MakeValue());
#define ONEXPU_ASSIGN_OR_RETURN(target, expression)                                            \
  ONEXPU_ASSIGN_OR_RETURN_INNER_(ONEXPU_STATUS_CONCAT_(onexpu_statusor_, __COUNTER__), target, \
                                 expression)

#endif  // PJRT_CORE_BASE_STATUS_MACROS_H_
