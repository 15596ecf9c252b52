// The loops of docs/schedules/matmul/matmul.tir as they stand (plain_ijk), and in the order that a compiler can vectorise
// (plain_ikj). Their parameters are those of a kernel.
void plain_ijk(void *const *buffers, const long *scalars, void *scratch, long begin, long end) {
  const float(*restrict a)[K] = buffers[0];
  const float(*restrict b)[N] = buffers[1];
  float(*restrict c)[N] = buffers[2];
  for (long i = 0; i < M; i++)
    for (long j = 0; j < N; j++) {
      float sum = 0;
      for (long k = 0; k < K; k++)
        sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
}

void plain_ikj(void *const *buffers, const long *scalars, void *scratch, long begin, long end) {
  const float(*restrict a)[K] = buffers[0];
  const float(*restrict b)[N] = buffers[1];
  float(*restrict c)[N] = buffers[2];
  for (long i = 0; i < M; i++) {
    for (long j = 0; j < N; j++)
      c[i][j] = 0;
    for (long k = 0; k < K; k++)
      for (long j = 0; j < N; j++)
        c[i][j] += a[i][k] * b[k][j];
  }
}
