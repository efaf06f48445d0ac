// The kernels of a frame as PTX, which the driver compiles for whatever GPU there is. Bytes, accesses and elements are
// shared out in strides of the grid.
//   dbl_begin  sets a word to `sum`, and the eight bytes at `address` + 8 to the time now
//   dbl_sum    adds factor times the sum of `bytes` bytes to a word
//   dbl_write  element i becomes (sum % 127 + plus + i) % 127, in the tensor's type (numbers of nvinfer1::DataType)
//   dbl_spin   reads and writes `accesses` times 16 bytes, then waits until `nanos` have passed since the time at `since`
// In this order: the wait comes last and counts from the first, so that the frame takes the stated time whatever the others
// take, which depends on clocks and caches.
#pragma once

namespace dbl
{

constexpr char kPTX[] = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry dbl_begin(.param .u64 address, .param .u32 sum)
{
    .reg .b32 %r<2>; .reg .b64 %d<3>;
    ld.param.u64 %d1, [address]; ld.param.u32 %r1, [sum];
    cvta.to.global.u64 %d1, %d1;
    st.global.u32 [%d1], %r1;
    mov.u64 %d2, %globaltimer; st.global.u64 [%d1+8], %d2;
    ret;
}

.visible .entry dbl_sum(.param .u64 address, .param .u64 bytes, .param .u32 factor, .param .u64 into)
{
    .reg .pred %p<2>; .reg .b32 %r<10>; .reg .b64 %d<10>;
    ld.param.u64 %d1, [address]; ld.param.u64 %d2, [bytes]; ld.param.u32 %r1, [factor]; ld.param.u64 %d3, [into];
    cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d3, %d3;
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mov.u32 %r5, %nctaid.x;
    mad.lo.u32 %r4, %r2, %r3, %r4; cvt.u64.u32 %d4, %r4;
    mul.lo.u32 %r5, %r5, %r3; cvt.u64.u32 %d5, %r5;
    mov.u32 %r6, 0;
NEXT:
    setp.ge.u64 %p1, %d4, %d2;
    @%p1 bra DONE;
    add.u64 %d6, %d1, %d4; ld.global.u8 %r7, [%d6]; add.u32 %r6, %r6, %r7;
    add.u64 %d4, %d4, %d5;
    bra NEXT;
DONE:
    mul.lo.u32 %r6, %r6, %r1;
    red.global.add.u32 [%d3], %r6;
    ret;
}

.visible .entry dbl_spin(.param .u64 nanos, .param .u64 buffer, .param .u64 places, .param .u64 accesses, .param .u64 since)
{
    .reg .pred %p<3>; .reg .b32 %r<10>; .reg .b64 %d<12>;
    ld.param.u64 %d1, [since]; cvta.to.global.u64 %d1, %d1; ld.global.u64 %d1, [%d1];
    ld.param.u64 %d2, [nanos]; ld.param.u64 %d3, [buffer]; ld.param.u64 %d4, [places]; ld.param.u64 %d5, [accesses];
    cvta.to.global.u64 %d3, %d3;
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mov.u32 %r5, %nctaid.x;
    mad.lo.u32 %r4, %r2, %r3, %r4; cvt.u64.u32 %d6, %r4;
    mul.lo.u32 %r5, %r5, %r3; cvt.u64.u32 %d7, %r5;
NEXT:
    setp.ge.u64 %p1, %d6, %d5;
    @%p1 bra WAIT;
    rem.u64 %d8, %d6, %d4; shl.b64 %d8, %d8, 4; add.u64 %d8, %d3, %d8;
    ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%d8];
    add.u32 %r6, %r6, 1;
    st.global.v4.u32 [%d8], {%r6, %r7, %r8, %r9};
    add.u64 %d6, %d6, %d7;
    bra NEXT;
WAIT:
    mov.u64 %d9, %globaltimer;
    sub.u64 %d9, %d9, %d1;
    setp.lt.u64 %p2, %d9, %d2;
    @%p2 bra WAIT;
    ret;
}

.visible .entry dbl_write(.param .u64 address, .param .u64 elements, .param .u32 type, .param .u32 plus, .param .u64 sum)
{
    .reg .pred %p<8>; .reg .b16 %h<2>; .reg .b32 %r<10>; .reg .f32 %f<2>; .reg .b64 %d<12>;
    ld.param.u64 %d1, [address]; ld.param.u64 %d2, [elements]; ld.param.u64 %d3, [sum];
    ld.param.u32 %r1, [type]; ld.param.u32 %r6, [plus];
    cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d3, %d3;
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mov.u32 %r5, %nctaid.x;
    mad.lo.u32 %r4, %r2, %r3, %r4; cvt.u64.u32 %d4, %r4;
    mul.lo.u32 %r5, %r5, %r3; cvt.u64.u32 %d5, %r5;
    ld.global.u32 %r7, [%d3]; rem.u32 %r7, %r7, 127; add.u32 %r7, %r7, %r6; cvt.u64.u32 %d6, %r7;
NEXT:
    setp.ge.u64 %p1, %d4, %d2;
    @%p1 bra DONE;
    add.u64 %d7, %d6, %d4; rem.u64 %d7, %d7, 127; cvt.u32.u64 %r8, %d7;
    cvt.rn.f32.u32 %f1, %r8;
    shl.b64 %d8, %d4, 1; add.u64 %d8, %d1, %d8;
    shl.b64 %d9, %d4, 2; add.u64 %d9, %d1, %d9;
    shl.b64 %d10, %d4, 3; add.u64 %d10, %d1, %d10;
    add.u64 %d11, %d1, %d4;
    add.u64 %d4, %d4, %d5;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 bra FLOAT;
    setp.eq.u32 %p3, %r1, 1;
    @%p3 bra HALF;
    setp.eq.u32 %p4, %r1, 3;
    @%p4 bra INT;
    setp.eq.u32 %p5, %r1, 7;
    @%p5 bra BRAIN;
    setp.eq.u32 %p6, %r1, 8;
    @%p6 bra LONG;
    setp.eq.u32 %p7, %r1, 4;
    @%p7 and.b32 %r8, %r8, 1;
    st.global.u8 [%d11], %r8;
    bra NEXT;
FLOAT:
    st.global.f32 [%d9], %f1;
    bra NEXT;
HALF:
    cvt.rn.f16.f32 %h1, %f1; st.global.b16 [%d8], %h1;
    bra NEXT;
INT:
    st.global.u32 [%d9], %r8;
    bra NEXT;
BRAIN:
    mov.b32 %r9, %f1; shr.u32 %r9, %r9, 16; cvt.u16.u32 %h1, %r9; st.global.b16 [%d8], %h1;
    bra NEXT;
LONG:
    st.global.u64 [%d10], %d7;
    bra NEXT;
DONE:
    ret;
}
)";

} // namespace dbl
