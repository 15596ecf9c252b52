// A plugin for qemu-user (TCG plugin API 1) that counts the instructions executed in one function of the program:
//
//	qemu-aarch64 -plugin icount.so,sym=NAME -d plugin PROGRAM
//
// The prototypes are declared here because qemu-user packages have no header; libc is the emulator's own.
typedef unsigned long u64;
struct tb;
struct insn;

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

void qemu_plugin_register_vcpu_tb_trans_cb(u64 id, void (*cb)(u64 id, struct tb *tb));
void qemu_plugin_register_atexit_cb(u64 id, void (*cb)(u64 id, void *data), void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct insn *insn, int op, void *counter, u64 add);
u64 qemu_plugin_tb_n_insns(struct tb *tb);
struct insn *qemu_plugin_tb_get_insn(struct tb *tb, u64 i);
const char *qemu_plugin_insn_symbol(struct insn *insn);
void qemu_plugin_outs(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, u64 n);
int snprintf(char *to, u64 size, const char *format, ...);

static u64 count;
static char name[256];

static void translated(u64 id, struct tb *tb) {
  for (u64 i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
    struct insn *insn = qemu_plugin_tb_get_insn(tb, i);
    const char *symbol = qemu_plugin_insn_symbol(insn);
    if (symbol && !strcmp(symbol, name))
      qemu_plugin_register_vcpu_insn_exec_inline(insn, 0, &count, 1);
  }
}

static void ended(u64 id, void *data) {
  char text[300];
  snprintf(text, sizeof text, "instructions %lu\n", count);
  qemu_plugin_outs(text);
}

__attribute__((visibility("default"))) int qemu_plugin_install(u64 id, const void *info, int argc, char **argv) {
  for (int i = 0; i < argc; i++)
    if (!strncmp(argv[i], "sym=", 4))
      snprintf(name, sizeof name, "%s", argv[i] + 4);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, 0);
  return 0;
}
