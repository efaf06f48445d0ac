// Pillar features onto a canvas, as src/detector/lidar/scatter.rs does it on the host: first the cells that the frame before
// wrote are cleared, then this frame's are written. A thread each for a channel of a pillar.

typedef unsigned long long u64;

// Clears the cells in `written` (below 0: none) in all planes.
extern "C" __global__ void __launch_bounds__(256)
jetlag_scatter_clear(float* canvas, int const* written, u64 max_pillars, u64 channels, u64 area)
{
    u64 const i = (u64) blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= max_pillars * channels)
        return;
    int const cell = written[i / channels];
    if (cell >= 0 && (u64) cell < area)
        canvas[i % channels * area + cell] = 0.0f;
}

// Writes `pillars` pillars and notes their cells in `written`; rows that only fill up have a cell below 0. Features stand
// channel by channel (`rows` to a channel) where `channels_first` is not 0, else row by row.
extern "C" __global__ void __launch_bounds__(256)
jetlag_scatter(float* canvas, int* written, float const* features, int const* cells, u64 pillars, u64 rows, u64 max_pillars,
    u64 channels, u64 width, u64 area, u64 channels_first)
{
    u64 const i = (u64) blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= max_pillars * channels)
        return;
    u64 const pillar = i / channels, channel = i % channels;
    int cell = -1;
    if (pillar < pillars)
    {
        int const x = cells[2 * pillar], y = cells[2 * pillar + 1];
        if (x >= 0 && y >= 0 && (u64) x < width && y * width + x < area)
            cell = (int) (y * width + x);
    }
    if (cell >= 0)
        canvas[channel * area + cell] = features[channels_first != 0 ? channel * rows + pillar : pillar * channels + channel];
    if (channel == 0)
        written[pillar] = cell;
}
