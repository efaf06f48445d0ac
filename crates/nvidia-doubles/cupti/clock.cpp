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

/// How far a clock is ahead of CLOCK_MONOTONIC; exactly 0 where it is that clock.
int64_t ahead(uint64_t (*clock)())
{
    uint64_t const before = read(CLOCK_MONOTONIC);
    uint64_t const theirs = clock();
    uint64_t const after = read(CLOCK_MONOTONIC);
    return before <= theirs && theirs <= after ? 0 : static_cast<int64_t>(theirs - before - (after - before) / 2);
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
    return monotonic + (read(CLOCK_REALTIME) - read(CLOCK_MONOTONIC));
}

} // namespace cupti_double
