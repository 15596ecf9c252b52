// The kernels of the tests of this package, and a twin of the driver that codegen/llvm makes, so that these tests need
// no code generator. twin_amd64.so and twin_arm64.so are made of it:
//
//   L="-O2 -fPIC -ffreestanding -shared -nostdlib -fuse-ld=lld -Wl,-z,defs,-z,max-page-size=16384,-s,--build-id=none"
//   clang-19 --target=x86_64-unknown-linux-gnu $L twin.c -o twin_amd64.so
//   clang-19 --target=aarch64-linux-android29 $L -mno-outline-atomics twin.c -o twin_arm64.so
//
// The tests of codegen/llvm are about the real driver.
typedef long i64;
typedef unsigned long u64;
typedef void (*kernel)(void *const *, const i64 *, void *, i64, i64);
struct launch { kernel fn; void *const *bufs; const i64 *scalars; i64 grid, chunk; };
struct pool { u64 word; i64 left; struct launch *now; int quit, kick; };
struct run { struct launch *launches; i64 n; char *scratch; i64 stride, threads; int *cancel; u64 *ticks; union { u64 raw[32]; struct pool p; }; };

static void futex(int *at, i64 op, i64 v) {
#ifdef __x86_64__
  register i64 r10 __asm__("r10") = 0;
  i64 ret;
  __asm__ volatile("syscall" : "=a"(ret) : "0"(202l), "D"(at), "S"(op), "d"(v), "r"(r10) : "rcx", "r11", "memory");
#else
  register i64 x8 __asm__("x8") = 98, x1 __asm__("x1") = op, x2 __asm__("x2") = v, x3 __asm__("x3") = 0;
  register int *x0 __asm__("x0") = at;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
#endif
}

static u64 ticks(void) {
#ifdef __x86_64__
  return __builtin_readcyclecounter();
#else
  u64 t;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#endif
}

#define load(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)

static void drain(struct run *r, i64 id) {
  for (;;) {
    u64 w = load(&r->p.word);
    do {
      if (!(unsigned)w) return;
    } while (!__atomic_compare_exchange_n(&r->p.word, &w, w - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    struct launch *l = r->p.now;
    i64 begin = (i64)((unsigned)w - 1) * l->chunk, end = begin + l->chunk;
    if (end > l->grid) end = l->grid;
    if (!load(r->cancel)) l->fn(l->bufs, l->scalars, r->scratch + id * r->stride, begin, end);
    __atomic_fetch_sub(&r->p.left, 1, __ATOMIC_SEQ_CST);
  }
}

i64 texel_run(struct run *r) {
  for (i64 i = 0; i < r->n; i++) {
    struct launch *l = &r->launches[i];
    if (load(r->cancel)) return i;
    if (r->ticks) r->ticks[2 * i] = ticks();
    u64 chunks = (l->grid + l->chunk - 1) / l->chunk;
    r->p.now = l;
    __atomic_store_n(&r->p.left, (i64)chunks, __ATOMIC_SEQ_CST);
    __atomic_store_n(&r->p.word, ((load(&r->p.word) >> 32) + 1) << 32 | chunks, __ATOMIC_SEQ_CST);
    if (r->threads > 1) {
      __atomic_fetch_add(&r->p.kick, 1, __ATOMIC_SEQ_CST);
      futex(&r->p.kick, 129, 1 << 30);
    }
    drain(r, 0);
    while (load(&r->p.left)) ;
    if (load(r->cancel)) return i;
    if (r->ticks) r->ticks[2 * i + 1] = ticks();
  }
  return r->n;
}

void texel_worker(struct run *r, i64 id) {
  while (!load(&r->p.quit)) {
    int k = load(&r->p.kick);
    drain(r, id);
    if (!load(&r->p.quit)) futex(&r->p.kick, 128, k);
  }
}

void texel_quit(struct run *r) {
  __atomic_store_n(&r->p.quit, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&r->p.kick, 1, __ATOMIC_SEQ_CST);
  futex(&r->p.kick, 129, 1 << 30);
}

// add: bufs[0][i] = bufs[1][i] + bufs[2][i mod scalars[0]]
void add(void *const *b, const i64 *s, void *scratch, i64 begin, i64 end) {
  for (i64 i = begin; i < end; i++) ((float *)b[0])[i] = ((float *)b[1])[i] + ((float *)b[2])[i % s[0]];
}

// twice: bufs[0][i] = 2 bufs[1][i], through scratch
void twice(void *const *b, const i64 *s, void *scratch, i64 begin, i64 end) {
  volatile float *t = scratch;
  for (i64 i = begin; i < end; i++) {
    t[i % 16] = ((float *)b[1])[i];
    ((float *)b[0])[i] = 2 * t[i % 16];
  }
}

// positive: keeps the columns of bufs[1], scalars[0] rows of scalars[1], whose first row is positive; bufs[2] is their number
void positive(void *const *b, const i64 *s, void *scratch, i64 begin, i64 end) {
  i64 n = 0;
  for (i64 c = 0; c < s[1]; c++) {
    if (((float *)b[1])[c] <= 0) continue;
    for (i64 r = 0; r < s[0]; r++) ((float *)b[0])[r * s[1] + n] = ((float *)b[1])[r * s[1] + c];
    n++;
  }
  *(i64 *)b[2] = n;
}

// below: bufs[0] = bufs[1][0] < scalars[0]
void below(void *const *b, const i64 *s, void *scratch, i64 begin, i64 end) { *(char *)b[0] = *(float *)b[1] < s[0]; }

// number: bufs[0] = scalars[0]
void number(void *const *b, const i64 *s, void *scratch, i64 begin, i64 end) { *(i64 *)b[0] = s[0]; }

// spin: waits about scalars[0] rounds a step, then as twice without scratch
void spin(void *const *b, const i64 *s, void *scratch, i64 begin, i64 end) {
  for (i64 i = begin; i < end; i++) {
    for (volatile i64 k = 0; k < s[0]; k++) ;
    ((float *)b[0])[i] = 2 * ((float *)b[1])[i];
  }
}
