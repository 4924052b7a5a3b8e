// A persistent thread pool for one parallel loop at a time.
#pragma once
#include <cstdint>
#include <functional>

namespace lambdak {

// Calls body(chunk) for every chunk in [0, chunks), on up to `threads` threads including the caller's.
// Callers that are at work already count among the threads, and one that finds the pool busy runs its loop on its own thread
// alone: many callers do not multiply the threads. A child process has a pool of its own after fork. `body` must not throw.
void parallel_for(int64_t chunks, int threads, const std::function<void(int64_t)>& body);

}  // namespace lambdak
