// Tickets: places in a timeline's order, and sets of them.
//
// Plain values. A set keeps one ticket per timeline, the latest: a timeline completes its tickets
// in order.
#ifndef PJRT_CORE_RUNTIME_QUEUE_TICKET_H_
#define PJRT_CORE_RUNTIME_QUEUE_TICKET_H_

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"

namespace onexpu {

class Timeline;

using Ticket = uint64_t;  // from 1; 0 is complete at all times

struct TicketRef {
  Timeline* timeline = nullptr;
  Ticket ticket = 0;
  // As a use of memory: that work gave the memory back itself, and may take it again for commands
  // that it submits later. Otherwise it has the memory for all of its commands.
  bool is_given_back = false;
};

class TicketSet {
 public:
  void Add(TicketRef use) {
    if (use.ticket == 0) return;
    for (TicketRef& known : tickets_) {
      if (known.timeline != use.timeline) continue;
      if (known.ticket == use.ticket) {
        known.is_given_back = known.is_given_back && use.is_given_back;
      } else if (known.ticket < use.ticket) {
        known = use;
      }
      return;
    }
    tickets_.push_back(use);
  }
  void Add(const TicketSet& other) {
    for (TicketRef use : other.tickets_) Add(use);
  }
  template <typename Predicate>
  void RemoveIf(Predicate predicate) {
    tickets_.erase(std::remove_if(tickets_.begin(), tickets_.end(), predicate), tickets_.end());
  }
  void clear() { tickets_.clear(); }
  bool empty() const { return tickets_.empty(); }
  auto begin() const { return tickets_.begin(); }
  auto end() const { return tickets_.end(); }

 private:
  absl::InlinedVector<TicketRef, 3> tickets_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_QUEUE_TICKET_H_
