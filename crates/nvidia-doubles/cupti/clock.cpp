// The clock of the records: the program's own, where it gave one, else CLOCK_REALTIME as CUPTI's.
#include "state.h"

#include <ctime>

namespace cupti_double
{
namespace
{

uint64_t read(clockid_t clock)
{
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000ULL + static_cast<uint64_t>(time.tv_nsec);
}

/// How far a clock is ahead of CLOCK_MONOTONIC; exactly 0 where it is that clock. Of several looks the one that the system
/// interrupted least.
template <class Clock> int64_t ahead(Clock clock)
{
    int64_t found = 0;
    uint64_t least = ~0ULL;
    for (int look = 0; look < 1000 && least > 2'000; ++look)
    {
        uint64_t const before = read(CLOCK_MONOTONIC);
        uint64_t const theirs = clock();
        uint64_t const after = read(CLOCK_MONOTONIC);
        if (before <= theirs && theirs <= after)
            return 0;
        if (after - before < least)
        {
            least = after - before;
            found = static_cast<int64_t>(theirs - before - least / 2);
        }
    }
    return found;
}

} // namespace

uint64_t stamp()
{
    State& s = state();
    return s.timestamp != nullptr ? s.timestamp() : read(CLOCK_REALTIME) + s.orders["step"];
}

void setClock(uint64_t (*clock)())
{
    state().timestamp = clock;
    state().ahead = clock == nullptr ? 0 : ahead(clock);
}

uint64_t stampOf(uint64_t monotonic)
{
    if (monotonic == 0)
        return 0;
    {
        Lock const lock(state().lock);
        if (state().timestamp != nullptr)
            return monotonic + static_cast<uint64_t>(state().ahead);
    }
    return monotonic + static_cast<uint64_t>(ahead([] { return read(CLOCK_REALTIME); }));
}

} // namespace cupti_double
