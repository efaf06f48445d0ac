// Points to pillars and to a network's inputs, as src/detector/lidar/voxelise.rs and encode.rs do it on the host, to the bit:
// pillars in order of first appearance, points in file order, the first of each kept. What threads do in any order (a least
// index, a count, a place in a pillar's list) is put in order before it shows.
//
//   clear → cells → flags → (tiles → groups → prefix) → rows → count → (tiles → groups → prefix) → fill → keep → mean → encode
//
// A sweep comes as a block: four words, the first of which is the number of points, then x, y, z, intensity of each, and, if a
// network takes it, the time of each. So a launch, and a graph with it, is the same for every sweep.

typedef unsigned int u32;
typedef unsigned long long u64;

#define NONE 0xffffffffu
#define TILE 32
#define GROUP 64
#define EACH(i, end) for (u32 i = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x; i < (end); i += step)

struct Setup
{
    u32 columns, rows; // of the grid
    u32 max_points, max_pillars, skips, capacity;
    float low[3], size[3];
    float centre[3], first[2]; // of cell 0: its middle, and what a network was given as such
    // Places in the working memory, in words. Its first three words: pillars, where reading stops, points.
    u32 first_point;    // by cell: the least index of its points
    u32 owner;          // by point: its cell, then its pillar
    u32 flag;           // by point: whether it is its cell's first, then its place in its pillar's list
    u32 rank;           // by point: how many firsts there are before it
    u32 tiles, groups;  // sums of TILE values, of GROUP tiles
    u32 count, start;   // by pillar: its points, and where its list begins
    u32 list;           // the pillars' points, pillar by pillar, in no order
    u32 kept;           // by pillar and place: the point there
    u32 mean;           // by pillar: of x, y, z
};

extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_clear(Setup const* s, u32 const* block, u32* work, int* cells)
{
    EACH(i, s->columns * s->rows)
        work[s->first_point + i] = NONE;
    EACH(i, s->max_pillars)
    {
        work[s->count + i] = 0;
        cells[2 * i] = cells[2 * i + 1] = -1;
    }
    EACH(i, 1)
    {
        u32 const points = block[0] < s->capacity ? block[0] : s->capacity;
        work[0] = 0;
        work[1] = work[2] = points;
    }
}

extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_cells(Setup const* s, u32 const* block, u32* work)
{
    float const* const points = (float const*) (block + 4);
    EACH(i, work[2])
    {
        float const* const point = points + 4 * (u64) i;
        float const x = (point[0] - s->low[0]) / s->size[0], y = (point[1] - s->low[1]) / s->size[1],
                    z = (point[2] - s->low[2]) / s->size[2], most = 3.402823466e+38f;
        u32 cell = NONE;
        // What is not a number is in no range.
        if (x >= 0.0f && x < (float) s->columns && y >= 0.0f && y < (float) s->rows && z >= 0.0f && z < 1.0f
            && point[3] >= -most && point[3] < most)
        {
            cell = (u32) y * s->columns + (u32) x;
            atomicMin(work + s->first_point + cell, i);
        }
        work[s->owner + i] = cell;
    }
}

extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_flags(Setup const* s, u32* work)
{
    EACH(i, work[2])
    {
        u32 const cell = work[s->owner + i];
        work[s->flag + i] = cell != NONE && work[s->first_point + cell] == i;
    }
}

// The sums before each of `work[number]` values, in three launches.
extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_tiles(Setup const* s, u32* work, u64 number, u64 values)
{
    u32 const end = work[number];
    EACH(tile, (end + TILE - 1) / TILE)
    {
        u32 sum = 0;
        for (u32 i = tile * TILE; i < end && i < (tile + 1) * TILE; ++i)
            sum += work[values + i];
        work[s->tiles + tile] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_groups(Setup const* s, u32* work, u64 number)
{
    u32 const end = (work[number] + TILE - 1) / TILE;
    EACH(group, (end + GROUP - 1) / GROUP)
    {
        u32 sum = 0;
        for (u32 tile = group * GROUP; tile < end && tile < (group + 1) * GROUP; ++tile)
            sum += work[s->tiles + tile];
        work[s->groups + group] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_prefix(Setup const* s, u32* work, u64 number, u64 values, u64 sums)
{
    u32 const end = work[number];
    EACH(tile, (end + TILE - 1) / TILE)
    {
        u32 before = 0;
        for (u32 group = 0; group < tile / GROUP; ++group)
            before += work[s->groups + group];
        for (u32 other = tile / GROUP * GROUP; other < tile; ++other)
            before += work[s->tiles + other];
        for (u32 i = tile * TILE; i < end && i < (tile + 1) * TILE; ++i)
        {
            u32 const value = work[values + i];
            work[sums + i] = before;
            before += value;
        }
    }
}

// A first point's rank is its pillar. The first of one pillar too many is where reading stops, unless such points are skipped.
extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_rows(Setup const* s, u32* work, int* cells)
{
    u32 const points = work[2];
    EACH(i, points)
    {
        u32 const rank = work[s->rank + i], is_first = work[s->flag + i];
        if (is_first != 0 && rank < s->max_pillars)
        {
            u32 const cell = work[s->owner + i];
            cells[2 * rank] = (int) (cell % s->columns);
            cells[2 * rank + 1] = (int) (cell / s->columns);
        }
        if (is_first != 0 && rank == s->max_pillars && s->skips == 0)
            work[1] = i;
        if (i + 1 == points)
            work[0] = rank + is_first < s->max_pillars ? rank + is_first : s->max_pillars;
    }
}

extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_count(Setup const* s, u32* work)
{
    EACH(i, work[2])
    {
        u32 const cell = work[s->owner + i];
        u32 pillar = NONE;
        if (cell != NONE && i < work[1])
            pillar = work[s->rank + work[s->first_point + cell]];
        if (pillar < s->max_pillars)
            work[s->flag + i] = atomicAdd(work + s->count + pillar, 1u);
        work[s->owner + i] = pillar < s->max_pillars ? pillar : NONE;
    }
}

extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_fill(Setup const* s, u32* work)
{
    EACH(i, work[2])
    {
        u32 const pillar = work[s->owner + i];
        if (pillar != NONE)
            work[s->list + work[s->start + pillar] + work[s->flag + i]] = i;
    }
}

// A point's place among those of its pillar; beyond the last that is kept it need not be known.
extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_keep(Setup const* s, u32* work)
{
    EACH(i, work[2])
    {
        u32 const pillar = work[s->owner + i];
        if (pillar == NONE)
            continue;
        u32 const* const list = work + s->list + work[s->start + pillar];
        u32 const count = work[s->count + pillar];
        u32 before = 0;
        for (u32 k = 0; k < count && before < s->max_points; ++k)
            before += list[k] < i;
        if (before < s->max_points)
            work[s->kept + (u64) pillar * s->max_points + before] = i;
    }
}

// Sums are taken one after another, since they would differ otherwise.
extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_mean(Setup const* s, u32 const* block, u32* work)
{
    float const* const points = (float const*) (block + 4);
    EACH(pillar, work[0])
    {
        u32 const count = work[s->count + pillar] < s->max_points ? work[s->count + pillar] : s->max_points;
        u32 const* const kept = work + s->kept + (u64) pillar * s->max_points;
        float sum[3] = {0.0f, 0.0f, 0.0f};
        for (u32 k = 0; k < count; ++k)
            for (u32 axis = 0; axis < 3; ++axis)
                sum[axis] += points[4 * (u64) kept[k] + axis];
        for (u32 axis = 0; axis < 3; ++axis)
            work[s->mean + 3 * pillar + axis] = __float_as_uint(sum[axis] / (float) count);
    }
}

// One tensor: `slots` to a row, and in each the features whose codes stand in `codes`, four bits each:
// 0 … 3 the point, 4 … 6 from the mean, 7 … 9 from the pillar's middle, 10 zero, 11 one (0 in padding), 12 and 13 the middle
// as the network was given it (in padding too), 14 the number of points (1 in a row that only fills up), 15 the point's time.
extern "C" __global__ void __launch_bounds__(256)
jetlag_pillars_encode(float* out, Setup const* s, u32 const* block, u32 const* work, int const* cells, u64 slots, u64 row_stride,
    u64 slot_stride, u64 feature_stride, u64 codes, u64 features)
{
    float const* const points = (float const*) (block + 4);
    EACH(i, s->max_pillars * (u32) slots)
    {
        u32 const row = i / (u32) slots, slot = i % (u32) slots;
        bool const is_pillar = row < work[0];
        u32 count = is_pillar ? work[s->count + row] : 0;
        count = count < s->max_points ? count : s->max_points;
        bool const is_point = slot < count;
        u64 const at = is_point ? work[s->kept + (u64) row * s->max_points + slot] : 0;
        float const* const point = points + 4 * at;
        for (u32 f = 0; f < features; ++f)
        {
            u32 const code = (u32) (codes >> (4 * f)) & 15;
            float value = 0.0f;
            if (code == 14)
                value = is_pillar ? (float) count : 1.0f;
            else if (code == 15)
                value = is_point ? points[4 * (u64) work[2] + at] : 0.0f;
            else if (code >= 12 && is_pillar)
                value = __fadd_rn(__fmul_rn((float) cells[2 * row + code - 12], s->size[code - 12]), s->first[code - 12]);
            else if (is_point && code < 4)
                value = point[code];
            else if (is_point && code < 7)
                value = point[code - 4] - __uint_as_float(work[s->mean + 3 * row + code - 4]);
            else if (is_point && code < 10)
            {
                u32 const axis = code - 7;
                float const middle = axis == 2
                    ? s->centre[2]
                    : __fadd_rn(__fmul_rn((float) cells[2 * row + axis], s->size[axis]), s->centre[axis]);
                value = point[axis] - middle;
            }
            else if (is_point && code == 11)
                value = 1.0f;
            out[row * row_stride + slot * slot_stride + f * feature_stride] = value;
        }
    }
}
