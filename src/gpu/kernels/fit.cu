// An image fitted into a network's input, as src/detector/camera/preprocess.rs does it on the host, to the bit: the integer
// arithmetic is the same, and what follows is one product and one sum, each rounded. A thread for each pixel of the input.
//
// What is known of the image comes with it, in its block (src/detector/camera/preprocess/block.rs), so that a launch, and a
// graph with it, is the same for images of every size. Words of 32 bits:
//
//   0         0: rows of the image follow; 1: the input's values follow, as the host made them
//   1         bytes of a row
//   2 … 5     where the image lies in the input: left, top, width, height
//   6 … 8     by red, green, blue: value = level × gain + offset
//   9 … 11    the offsets
//   12        level of what the image does not cover
//   13        1: the input's first channel is blue
//   16        a pair for each column of the input: byte of its first pixel in a row, weights of it and the next (low and high
//             half); the next does not count where it weighs 0
//   16 + 2w   three for each row of the input: its two rows in the block, their weights
//   then      from the next multiple of four words on: rows or values

typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void __launch_bounds__(256)
jetlag_fit(float* input, u32 const* block, u64 bytes, u64 width, u64 height, u64 interleaved)
{
    u64 const i = (u64) blockIdx.x * blockDim.x + threadIdx.x, area = width * height;
    if (i >= area)
        return;
    u64 const begin = (16 + 2 * width + 3 * height + 3) / 4 * 16;
    unsigned char const* const pixels = (unsigned char const*) block;
    if (block[0] != 0)
    {
        float const* const values = (float const*) (pixels + begin);
        for (u64 k = i; k < 3 * area; k += area)
            input[k] = values[k];
        return;
    }
    u64 const x = i % width - block[2], y = i / width - block[3];
    bool const covered = x < block[4] && y < block[5] && x < width && y < height;
    u64 above = 0, below = 0, next = 0;
    u32 across[2] = {0, 0}, down[2] = {0, 0};
    if (covered)
    {
        u32 const* const column = block + 16 + 2 * x;
        u32 const* const row = block + 16 + 2 * width + 3 * y;
        above = begin + (u64) row[0] * block[1] + column[0];
        below = begin + (u64) row[1] * block[1] + column[0];
        across[0] = column[1] & 0xffff;
        across[1] = column[1] >> 16;
        down[0] = row[2] & 0xffff;
        down[1] = row[2] >> 16;
        next = across[1] != 0 ? 3 : 0;
        // A table that no image makes.
        if (above + next + 3 > bytes || below + next + 3 > bytes)
            return;
    }
    for (u32 channel = 0; channel < 3; ++channel)
    {
        u32 level = block[12];
        if (covered)
        {
            u32 const upper = (pixels[above + channel] * across[0] + pixels[above + next + channel] * across[1]) >> 4;
            u32 const lower = (pixels[below + channel] * across[0] + pixels[below + next + channel] * across[1]) >> 4;
            level = (((upper * down[0]) >> 16) + ((lower * down[1]) >> 16) + 2) >> 2;
        }
        float const value = __fadd_rn(__fmul_rn((float) level, __uint_as_float(block[6 + channel])), __uint_as_float(block[9 + channel]));
        u32 const slot = block[13] != 0 ? 2 - channel : channel;
        input[interleaved != 0 ? 3 * i + slot : slot * area + i] = value;
    }
}
