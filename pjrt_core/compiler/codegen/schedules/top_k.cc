// The first elements of sorted rows, selected through chunks of the row and nodes that keep the
// first element of each. Short rows are scanned in one launch. On a CPU, a work-item per row holds
// a tournament; on a GPU, many work-items count ranks.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "pjrt_core/compiler/analysis/top_k_queries.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "pjrt_core/compiler/codegen/schedules/top_k_kernel.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using Best = TopKKernel::Best;
using Candidate = TopKKernel::Candidate;

struct Problem {
  const xla::HloSortInstruction& sort;
  int64_t rows;
  int64_t length;  // of a row
  int64_t count;   // results per row
};

Problem ProblemOf(const xla::HloInstruction& instruction) {
  const xla::HloSortInstruction& sort = *FindSortOfTopK(instruction);
  const xla::Shape& shape = sort.operand(0)->shape();
  const int64_t length = shape.dimensions(sort.sort_dimension());
  return {sort, xla::ShapeUtil::ElementsIn(shape) / length, length,
          OneResultOf(instruction).shape().dimensions(sort.sort_dimension())};
}

// Position -1 becomes 0, so that no access is out of bounds. It does not occur.
Value* InBounds(FusionContext& kernel, Value* position) {
  Value* const zero = kernel.index_math().Constant(0);
  return kernel.b().CreateSelect(kernel.b().CreateICmpSLT(position, zero), zero, position);
}

// Each result is the first element of the row that comes after the result before.
absl::Status EmitScans(KernelSequence& sequence, const Problem& problem) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  TopKKernel steps(*kernel, problem.sort);
  IndexMath& math = steps.math();
  llvm::IRBuilder<>& b = kernel->b();
  const auto scan_row = [&](Value* item) -> absl::Status {
    steps.SelectRow(math.ToIndexType(item));
    const Best last = steps.NoElement();
    const auto select = [&](Value* rank) -> absl::Status {
      const Candidate previous = steps.Value(last);
      const Best best = steps.NoElement();
      const auto scan = [&](Value* position) -> absl::Status {
        TF_ASSIGN_OR_RETURN(const Candidate candidate, steps.LoadElement(position));
        TF_ASSIGN_OR_RETURN(Value * after, steps.IsBefore(previous, candidate));
        return steps.OfferNext(best, candidate,
                               b.CreateOr(after, b.CreateNot(steps.IsElement(previous))));
      };
      TF_RETURN_IF_ERROR(
          kernel->For(math.Constant(0), math.Constant(problem.length), math.Constant(1), scan));
      const Candidate found = steps.Value(best);
      b.CreateStore(found.position, last.position);
      for (size_t i = 0; i < found.keys.size(); ++i) b.CreateStore(found.keys[i], last.keys[i]);
      return steps.WriteResults(InBounds(*kernel, found.position), rank);
    };
    return kernel->For(math.Constant(0), math.Constant(problem.count), math.Constant(1), select);
  };
  TF_ASSIGN_OR_RETURN(LaunchDimensions launch,
                      kernel->PerWorkItem(problem.rows, WorkItemCost::kLoop, scan_row));
  return sequence.End(std::move(kernel), std::move(launch));
}

// Launches `body` with each row and each of `count` indices.
absl::Status EmitPerRow(KernelSequence& sequence, const Problem& problem, absl::string_view suffix,
                        int64_t count,
                        absl::FunctionRef<absl::Status(FusionContext& kernel, TopKKernel& steps,
                                                       Value* row, Value* index)>
                            body) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin(suffix));
  TopKKernel steps(*kernel, problem.sort);
  const auto in_row = [&](Value* item) {
    Value* const number = steps.math().ToIndexType(item);
    Value* const row = steps.math().Div(number, count);
    steps.SelectRow(row);
    return body(*kernel, steps, row, steps.math().Rem(number, count));
  };
  TF_ASSIGN_OR_RETURN(LaunchDimensions launch,
                      kernel->PerWorkItem(problem.rows * count, WorkItemCost::kLoop, in_row));
  return sequence.End(std::move(kernel), std::move(launch));
}

// The first element of a chunk of elements.
absl::Status EmitNode(FusionContext& kernel, TopKKernel& steps, const Chunks& chunks,
                      const NodeScratch& nodes, Value* row, Value* block, Value* lane) {
  IndexMath& math = steps.math();
  const Best best = steps.NoElement();
  const auto offer = [&](Value* position) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const Candidate candidate, steps.LoadElement(position));
    return steps.OfferNext(best, candidate, kernel.b().getTrue());
  };
  TF_RETURN_IF_ERROR(steps.ForItems(chunks, block, lane, offer));
  Value* const chunk = math.Add(math.Mul(block, chunks.lanes), lane);
  return steps.StoreNode(nodes, math.Add(math.Mul(row, nodes.per_row), chunk), steps.Value(best));
}

// ---- Tournaments ----

// Elements, nodes of chunks, and levels of nodes of groups of nodes, up to the winner of a row.
struct Tournament {
  Chunks chunks;
  std::vector<NodeScratch> levels;  // the last one has a node per row
};

// Nodes per group. Microseconds for f32[1,50257] on a CPU of two cores with 4, 8 and 16: 132, 143
// and 178 for k = 500, 689, 807 and 1,135 for k = 5,000.
constexpr int64_t kGroup = 4;

Tournament AddTournament(KernelSequence& sequence, const Problem& problem) {
  // A work-item scans a chunk per result, and all nodes once.
  int64_t size = 8;
  while (size < 256 && size * size * problem.count < problem.length) ++size;
  Tournament tournament{{problem.length, size, kVectorLanes}, {}};
  for (int64_t nodes = tournament.chunks.count();; nodes = (nodes + kGroup - 1) / kGroup) {
    tournament.levels.push_back(TopKKernel::AddNodes(sequence, problem.sort, nodes));
    if (nodes == 1) return tournament;
  }
}

// One row's steps after the first level.
class TournamentRow {
 public:
  TournamentRow(FusionContext& kernel, TopKKernel& steps, const Tournament& tournament, Value* row)
      : kernel_(kernel), steps_(steps), tournament_(tournament), math_(steps.math()), row_(row) {}

  absl::Status StoreGroups() {
    for (size_t level = 1; level < tournament_.levels.size(); ++level) {
      TF_RETURN_IF_ERROR(
          kernel_.For(math_.Constant(0), math_.Constant(tournament_.levels[level].per_row),
                      math_.Constant(1), [&](Value* group) { return StoreGroup(level, group); }));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Candidate> Winner() {
    return steps_.LoadNode(tournament_.levels.back(),
                           Node(tournament_.levels.size() - 1, math_.Constant(0)));
  }

  // Every element up to the winner is out.
  absl::Status Replace(const Candidate& winner) {
    const Chunks& chunks = tournament_.chunks;
    Value* const position = InBounds(kernel_, winner.position);
    Value* const block = math_.Div(position, chunks.block());
    Value* const lane = math_.Rem(position, chunks.lanes);
    const Best best = steps_.NoElement();
    const auto offer = [&](Value* item) -> absl::Status {
      TF_ASSIGN_OR_RETURN(const Candidate candidate, steps_.LoadElement(item));
      TF_ASSIGN_OR_RETURN(Value * after, steps_.IsBefore(winner, candidate));
      return steps_.OfferNext(best, candidate, after);
    };
    TF_RETURN_IF_ERROR(steps_.ForItems(chunks, block, lane, offer));
    Value* node = math_.Add(math_.Mul(block, chunks.lanes), lane);
    TF_RETURN_IF_ERROR(steps_.StoreNode(tournament_.levels[0], Node(0, node), steps_.Value(best)));
    for (size_t level = 1; level < tournament_.levels.size(); ++level) {
      node = math_.Div(node, kGroup);
      TF_RETURN_IF_ERROR(StoreGroup(level, node));
    }
    return absl::OkStatus();
  }

 private:
  Value* Node(size_t level, Value* node) {
    return math_.Add(math_.Mul(row_, tournament_.levels[level].per_row), node);
  }

  absl::Status StoreGroup(size_t level, Value* group) {
    const NodeScratch& nodes = tournament_.levels[level - 1];
    Value* const begin = math_.Mul(group, kGroup);
    Value* const end = math_.Minimum(math_.Add(begin, kGroup), nodes.per_row);
    const Best best = steps_.NoElement();
    const auto offer = [&](Value* node) -> absl::Status {
      TF_ASSIGN_OR_RETURN(const Candidate candidate, steps_.LoadNode(nodes, node));
      return steps_.Offer(best, candidate, kernel_.b().getTrue());
    };
    TF_RETURN_IF_ERROR(
        kernel_.For(Node(level - 1, begin), Node(level - 1, end), math_.Constant(1), offer));
    return steps_.StoreNode(tournament_.levels[level], Node(level, group), steps_.Value(best));
  }

  FusionContext& kernel_;
  TopKKernel& steps_;
  const Tournament& tournament_;
  IndexMath& math_;
  Value* const row_;
};

// A work-group is a vector of lanes, and reads adjacent elements. It scans blocks of one row.
absl::Status EmitNodesByVectors(KernelSequence& sequence, const Problem& problem,
                                const Chunks& chunks, const NodeScratch& nodes) {
  const int64_t blocks = chunks.blocks();
  // As many work-groups as keep all threads busy.
  const int64_t wanted = 4 * int64_t{sequence.target().compute_units};
  const int64_t groups = std::clamp<int64_t>((wanted + problem.rows - 1) / problem.rows, 1, blocks);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin("_nodes"));
  TopKKernel steps(*kernel, problem.sort);
  IndexMath& math = steps.math();
  Value* const group = math.ToIndexType(GroupId(*kernel));
  Value* const lane = math.ToIndexType(LocalId(*kernel));
  Value* const row = math.Div(group, groups);
  steps.SelectRow(row);
  TF_RETURN_IF_ERROR(kernel->For(
      math.Rem(group, groups), math.Constant(blocks), math.Constant(groups),
      [&](Value* block) { return EmitNode(*kernel, steps, chunks, nodes, row, block, lane); }));
  const auto lanes = static_cast<uint64_t>(chunks.lanes);
  return sequence.End(std::move(kernel),
                      {{static_cast<uint64_t>(problem.rows * groups) * lanes}, {lanes}});
}

absl::Status EmitTournaments(KernelSequence& sequence, const Problem& problem) {
  const Tournament tournament = AddTournament(sequence, problem);
  TF_RETURN_IF_ERROR(
      EmitNodesByVectors(sequence, problem, tournament.chunks, tournament.levels[0]));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin("_select"));
  TopKKernel steps(*kernel, problem.sort);
  IndexMath& math = steps.math();
  Value* const row = math.ToIndexType(kernel->GlobalId());
  steps.SelectRow(row);
  TournamentRow nodes(*kernel, steps, tournament, row);
  TF_RETURN_IF_ERROR(nodes.StoreGroups());
  const auto select = [&](Value* rank) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const Candidate winner, nodes.Winner());
    TF_RETURN_IF_ERROR(steps.WriteResults(InBounds(*kernel, winner.position), rank));
    return nodes.Replace(winner);
  };
  TF_RETURN_IF_ERROR(
      kernel->For(math.Constant(0), math.Constant(problem.count), math.Constant(1), select));
  // One work-item per work-group: branches of several rows would not run together.
  return sequence.End(std::move(kernel), {{static_cast<uint64_t>(problem.rows)}, {1}});
}

// ---- Ranks ----

// Nodes of chunks of elements, and above them nodes of chunks of nodes. The ranks of the last
// level's nodes are counted. From there down, the items of the first `count` chunks that do not
// come after the last of these chunks' nodes are candidates, and their ranks are counted.
struct Level {
  Chunks chunks;  // of the level below, or of elements
  NodeScratch nodes;
};

struct Ranks {
  std::vector<Level> levels;
  int64_t live;        // by rank, the first `count` chunks of a level
  int64_t counts;      // of candidates in each
  int64_t candidates;  // items of the level below
  int64_t capacity;    // for the candidates of a chunk
};

Ranks AddRanks(KernelSequence& sequence, const Problem& problem) {
  Ranks ranks;
  ranks.capacity = 0;
  int64_t length = problem.length;
  for (const RankLevel& level : RankLevels(problem.length, problem.count)) {
    // One block: the first elements of a sorted row are in different chunks, so there are few
    // candidates.
    const Chunks chunks{length, level.chunk_size, level.nodes};
    ranks.levels.push_back({chunks, TopKKernel::AddNodes(sequence, problem.sort, level.nodes)});
    ranks.capacity = std::max(ranks.capacity, level.chunk_size);
    length = level.nodes;
  }
  const int64_t results = problem.rows * problem.count;
  ranks.live = TopKKernel::AddPositions(sequence, results);
  ranks.counts = TopKKernel::AddPositions(sequence, results);
  ranks.candidates = TopKKernel::AddPositions(sequence, results * ranks.capacity);
  return ranks;
}

class RankEmitter {
 public:
  RankEmitter(KernelSequence& sequence, const Problem& problem)
      : sequence_(sequence), problem_(problem), ranks_(AddRanks(sequence, problem)) {}

  absl::Status Emit() {
    const size_t levels = ranks_.levels.size();
    TF_RETURN_IF_ERROR(EmitNodes());
    for (size_t level = 1; level < levels; ++level) TF_RETURN_IF_ERROR(EmitLevel(level));
    TF_RETURN_IF_ERROR(EmitRanksOfNodes());
    for (size_t level = levels; level-- > 0;) {
      TF_RETURN_IF_ERROR(EmitCandidates(level));
      TF_RETURN_IF_ERROR(EmitRanksOfCandidates(level));
    }
    return absl::OkStatus();
  }

 private:
  // An item of a level's chunks.
  absl::StatusOr<Candidate> LoadItem(TopKKernel& steps, size_t level, Value* row, Value* item) {
    if (level == 0) return steps.LoadElement(item);
    const NodeScratch& nodes = ranks_.levels[level - 1].nodes;
    return steps.LoadNode(nodes, steps.math().Add(steps.math().Mul(row, nodes.per_row), item));
  }

  absl::Status EmitNodes() {
    const Chunks& chunks = ranks_.levels[0].chunks;
    const NodeScratch& nodes = ranks_.levels[0].nodes;
    return EmitPerRow(sequence_, problem_, "_nodes", nodes.per_row,
                      [&](FusionContext& kernel, TopKKernel& steps, Value* row, Value* chunk) {
                        return EmitNode(kernel, steps, chunks, nodes, row, steps.math().Constant(0),
                                        chunk);
                      });
  }

  absl::Status EmitLevel(size_t level) {
    const Chunks& chunks = ranks_.levels[level].chunks;
    const NodeScratch& nodes = ranks_.levels[level].nodes;
    return EmitPerRow(
        sequence_, problem_, absl::StrCat("_nodes", level), nodes.per_row,
        [&](FusionContext& kernel, TopKKernel& steps, Value* row, Value* chunk) -> absl::Status {
          const Best best = steps.NoElement();
          const auto offer = [&](Value* item) -> absl::Status {
            TF_ASSIGN_OR_RETURN(const Candidate candidate, LoadItem(steps, level, row, item));
            return steps.Offer(best, candidate, kernel.b().getTrue());
          };
          TF_RETURN_IF_ERROR(steps.ForItems(chunks, steps.math().Constant(0), chunk, offer));
          Value* const node = steps.math().Add(steps.math().Mul(row, nodes.per_row), chunk);
          return steps.StoreNode(nodes, node, steps.Value(best));
        });
  }

  // Adds 1 to `rank` if `other` comes before `candidate`.
  absl::Status Count(FusionContext& kernel, TopKKernel& steps, llvm::AllocaInst* rank,
                     const Candidate& other, const Candidate& candidate) {
    llvm::IRBuilder<>& b = kernel.b();
    TF_ASSIGN_OR_RETURN(Value * before, steps.IsBefore(other, candidate));
    before = b.CreateAnd(before, steps.IsElement(other));
    Value* const current = b.CreateLoad(steps.math().type(), rank);
    b.CreateStore(b.CreateAdd(current, b.CreateZExt(before, steps.math().type())), rank);
    return absl::OkStatus();
  }

  // Runs `body` with the rank if that is below the count of results.
  absl::Status IfSelected(FusionContext& kernel, TopKKernel& steps, llvm::AllocaInst* rank,
                          absl::FunctionRef<absl::Status(Value* rank)> body) {
    Value* const value = kernel.b().CreateLoad(steps.math().type(), rank);
    Value* const selected = kernel.b().CreateICmpSLT(value, steps.math().Constant(problem_.count));
    return kernel.If(selected, [&] { return body(value); });
  }

  absl::Status EmitRanksOfNodes() {
    const NodeScratch& nodes = ranks_.levels.back().nodes;
    return EmitPerRow(
        sequence_, problem_, "_ranks", nodes.per_row,
        [&](FusionContext& kernel, TopKKernel& steps, Value* row, Value* chunk) -> absl::Status {
          IndexMath& math = steps.math();
          Value* const first = math.Mul(row, nodes.per_row);
          TF_ASSIGN_OR_RETURN(const Candidate candidate,
                              steps.LoadNode(nodes, math.Add(first, chunk)));
          return kernel.If(steps.IsElement(candidate), [&]() -> absl::Status {
            llvm::AllocaInst* const rank = kernel.Slot(math.type(), math.Constant(0));
            TF_RETURN_IF_ERROR(kernel.For(first, math.Add(first, nodes.per_row), math.Constant(1),
                                          [&](Value* node) -> absl::Status {
                                            TF_ASSIGN_OR_RETURN(const Candidate other,
                                                                steps.LoadNode(nodes, node));
                                            return Count(kernel, steps, rank, other, candidate);
                                          }));
            return IfSelected(kernel, steps, rank, [&](Value* value) {
              return steps.StorePosition(ranks_.live,
                                         math.Add(math.Mul(row, problem_.count), value), chunk);
            });
          });
        });
  }

  absl::Status EmitCandidates(size_t level) {
    const Chunks& chunks = ranks_.levels[level].chunks;
    const NodeScratch& nodes = ranks_.levels[level].nodes;
    return EmitPerRow(
        sequence_, problem_, absl::StrCat("_candidates", level), problem_.count,
        [&](FusionContext& kernel, TopKKernel& steps, Value* row, Value* index) -> absl::Status {
          IndexMath& math = steps.math();
          llvm::IRBuilder<>& b = kernel.b();
          Value* const first = math.Mul(row, problem_.count);
          TF_ASSIGN_OR_RETURN(Value * last_chunk,
                              steps.LoadPosition(ranks_.live, math.Add(first, problem_.count - 1)));
          TF_ASSIGN_OR_RETURN(
              const Candidate last,
              steps.LoadNode(nodes, math.Add(math.Mul(row, nodes.per_row), last_chunk)));
          Value* const mine = math.Add(first, index);
          TF_ASSIGN_OR_RETURN(Value * chunk, steps.LoadPosition(ranks_.live, mine));
          Value* const list = math.Mul(mine, ranks_.capacity);
          llvm::AllocaInst* const count = kernel.Slot(math.type(), math.Constant(0));
          const auto collect = [&](Value* item) -> absl::Status {
            TF_ASSIGN_OR_RETURN(const Candidate candidate, LoadItem(steps, level, row, item));
            TF_ASSIGN_OR_RETURN(Value * after, steps.IsBefore(last, candidate));
            Value* const is_candidate = b.CreateAnd(b.CreateNot(after), steps.IsElement(candidate));
            return kernel.If(is_candidate, [&]() -> absl::Status {
              Value* const next = b.CreateLoad(math.type(), count);
              b.CreateStore(b.CreateAdd(next, math.Constant(1)), count);
              return steps.StorePosition(ranks_.candidates, b.CreateAdd(list, next), item);
            });
          };
          TF_RETURN_IF_ERROR(steps.ForItems(chunks, math.Constant(0), chunk, collect));
          return steps.StorePosition(ranks_.counts, mine, b.CreateLoad(math.type(), count));
        });
  }

  absl::Status EmitRanksOfCandidates(size_t level) {
    const int64_t size = ranks_.levels[level].chunks.size;
    return EmitPerRow(
        sequence_, problem_, absl::StrCat("_ranks", level), problem_.count * size,
        [&](FusionContext& kernel, TopKKernel& steps, Value* row, Value* index) -> absl::Status {
          IndexMath& math = steps.math();
          Value* const first = math.Mul(row, problem_.count);
          Value* const mine = math.Add(first, math.Div(index, size));
          Value* const entry = math.Rem(index, size);
          TF_ASSIGN_OR_RETURN(Value * count, steps.LoadPosition(ranks_.counts, mine));
          return kernel.If(kernel.b().CreateICmpSLT(entry, count), [&] {
            return EmitRankOfCandidate(kernel, steps, level, row,
                                       math.Add(math.Mul(mine, ranks_.capacity), entry));
          });
        });
  }

  absl::Status EmitRankOfCandidate(FusionContext& kernel, TopKKernel& steps, size_t level,
                                   Value* row, Value* entry) {
    IndexMath& math = steps.math();
    Value* const first = math.Mul(row, problem_.count);
    TF_ASSIGN_OR_RETURN(Value * item, steps.LoadPosition(ranks_.candidates, entry));
    TF_ASSIGN_OR_RETURN(const Candidate candidate, LoadItem(steps, level, row, item));
    llvm::AllocaInst* const rank = kernel.Slot(math.type(), math.Constant(0));
    const auto count_chunk = [&](Value* chunk) -> absl::Status {
      TF_ASSIGN_OR_RETURN(Value * count, steps.LoadPosition(ranks_.counts, chunk));
      Value* const list = math.Mul(chunk, ranks_.capacity);
      return kernel.For(
          list, math.Add(list, count), math.Constant(1), [&](Value* other) -> absl::Status {
            TF_ASSIGN_OR_RETURN(Value * other_item, steps.LoadPosition(ranks_.candidates, other));
            TF_ASSIGN_OR_RETURN(const Candidate compared, LoadItem(steps, level, row, other_item));
            return Count(kernel, steps, rank, compared, candidate);
          });
    };
    TF_RETURN_IF_ERROR(
        kernel.For(first, math.Add(first, problem_.count), math.Constant(1), count_chunk));
    return IfSelected(kernel, steps, rank, [&](Value* value) {
      return level == 0 ? steps.WriteResults(candidate.position, value)
                        : steps.StorePosition(ranks_.live, math.Add(first, value), item);
    });
  }

  KernelSequence& sequence_;
  const Problem& problem_;
  const Ranks ranks_;
};

}  // namespace

absl::Status EmitTopK(KernelSequence& sequence) {
  const Problem problem = ProblemOf(sequence.instruction());
  if (IsScanned(problem.sort, sequence.target())) return EmitScans(sequence, problem);
  if (sequence.target().schedules->sorts_in_work_groups) {
    return RankEmitter(sequence, problem).Emit();
  }
  return EmitTournaments(sequence, problem);
}

}  // namespace onexpu::compiler
