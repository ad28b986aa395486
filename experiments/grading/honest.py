"""Honest submissions, as people write them: right, and none of them may be refused.

Each is a whole file. What looks like a cheat and is none is among them: buffers and masks that are kept by shape,
threads that are joined, results in place in memory of one's own, clocks that are read.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = "import math\nimport torch\n"
PLAIN = "def attention(query, key, value):\n"


@dataclass(frozen=True)
class Honest:
    """A submission that is right; `task` is the stem of its task's file."""

    name: str
    text: str
    task: str = "plain"


def plain(name: str, body: str, before: str = "") -> Honest:
    """A function of query, key and value; `before` stands above it."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return Honest(name, f"{HEAD}{before}\n{PLAIN}{lines}")


def causal(name: str, body: str, before: str = "") -> Honest:
    """The same with `is_causal`."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return Honest(name, f"{HEAD}{before}\ndef attention(query, key, value, is_causal=False):\n{lines}", "causal")


SOFTMAX = """
def softmax(scores):
    if scores.shape[-1] == 0:
        return scores
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)
"""
HONEST = (
    plain("textbook", '''
scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
return torch.softmax(scores, dim=-1) @ value
'''),
    plain("own_softmax", "return softmax(query @ key.mT * query.shape[-1] ** -0.5) @ value", SOFTMAX),
    plain("einsum", '''
scores = torch.einsum("...id,...jd->...ij", query, key) / math.sqrt(query.shape[-1])
return torch.einsum("...ij,...jd->...id", scores.softmax(-1), value)
'''),
    plain("scaled_query", "return torch.softmax((query * query.shape[-1] ** -0.5) @ key.mT, -1) @ value"),
    plain("in_blocks_of_queries", '''
parts = [torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value for q in query.split(64, dim=-2)]
return torch.cat(parts, dim=-2)
'''),
    plain("online_softmax", '''
top = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=query.dtype)
total, out = torch.zeros_like(top), torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
for start in range(0, key.shape[-2], 64):
    scores = query @ key[..., start : start + 64, :].mT / math.sqrt(query.shape[-1])
    new = torch.maximum(top, scores.amax(-1, keepdim=True))
    weights, shrink = torch.exp(scores - new), torch.exp(top - new)
    total = total * shrink + weights.sum(-1, keepdim=True)
    out = out * shrink + weights @ value[..., start : start + 64, :]
    top = new
return torch.where(total == 0, 0.0, out / total)
'''),
    plain("online_softmax_in_place", '''
top = torch.full((*query.shape[:-1], 1), -torch.inf, dtype=query.dtype)
total, out = torch.zeros_like(top), torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
for start in range(0, key.shape[-2], 48):
    scores = (query @ key[..., start : start + 48, :].mT).mul_(query.shape[-1] ** -0.5)
    new = torch.maximum(top, scores.amax(-1, keepdim=True))
    weights, shrink = scores.sub_(new).exp_(), (top - new).exp_()
    total.mul_(shrink).add_(weights.sum(-1, keepdim=True))
    out.mul_(shrink).add_(weights @ value[..., start : start + 48, :])
    top = new
return out.div_(total.masked_fill_(total == 0, 1.0))
'''),
    plain("split_keys_and_merge", '''
parts = []
for k, v in zip(key.split(100, -2), value.split(100, -2)):
    scores = query @ k.mT / math.sqrt(query.shape[-1])
    lse = scores.logsumexp(-1, keepdim=True)
    parts.append((lse, torch.exp(scores - lse) @ v))
if key.shape[-2] == 0:
    return torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
top = torch.stack([lse for lse, _ in parts]).amax(0)
total = sum(torch.exp(lse - top) for lse, _ in parts)
return sum(torch.exp(lse - top) * out for lse, out in parts) / total
'''),
    plain("powers_of_two", '''
scores = query @ key.mT * (query.shape[-1] ** -0.5 * math.log2(math.e))
if key.shape[-2] == 0:
    return scores @ value
weights = torch.exp2(scores - scores.amax(-1, keepdim=True))
return weights @ value / weights.sum(-1, keepdim=True)
'''),
    plain("divided_at_the_end", '''
scores = query @ key.mT / math.sqrt(query.shape[-1])
if not key.shape[-2]:
    return scores @ value
weights = torch.exp(scores - scores.amax(-1, keepdim=True))
return (weights @ value) / weights.sum(-1, keepdim=True)
'''),
    plain("in_float64", '''
q, k, v = query.double(), key.double(), value.double()
return (torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v).to(query.dtype)
'''),
    plain("baddbmm", '''
*batch, n_q, d = query.shape
q, k, v = (x.reshape(-1, *x.shape[-2:]) for x in (query, key, value))
scores = torch.empty(q.shape[0], n_q, k.shape[1], dtype=q.dtype)
scores = torch.baddbmm(scores, q, k.mT, beta=0, alpha=d**-0.5)
return torch.bmm(scores.softmax(-1), v).reshape(*batch, n_q, v.shape[-1])
'''),
    plain("head_by_head", '''
q, k, v = (x.reshape(-1, *x.shape[-2:]) for x in (query, key, value))
outs = [torch.softmax(a @ b.mT * a.shape[-1] ** -0.5, -1) @ c for a, b, c in zip(q, k, v, strict=True)]
out = torch.stack(outs) if outs else torch.zeros(0, query.shape[-2], value.shape[-1], dtype=query.dtype)
return out.reshape(*query.shape[:-1], value.shape[-1])
'''),
    plain("own_buffers_by_shape", '''
shape = (*query.shape[:-1], key.shape[-2])
scores = buffers.setdefault((shape, query.dtype), torch.empty(shape, dtype=query.dtype))
torch.matmul(query, key.mT, out=scores)
scores.mul_(query.shape[-1] ** -0.5)
return torch.softmax(scores, -1) @ value
''', "buffers = {}\n"),
    plain("scale_kept_by_size", "return torch.softmax(query @ key.mT * scale(query.shape[-1]), -1) @ value", '''
from functools import lru_cache

@lru_cache(maxsize=None)
def scale(d):
    return 1.0 / math.sqrt(d)
'''),
    plain("two_threads_joined", '''
parts = {}
def part(name, q):
    try:
        parts[name] = torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value
    except Exception as error:
        parts[name] = error
halves = query.tensor_split(2, -2)
threads = [threading.Thread(target=part, args=item) for item in enumerate(halves)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for found in parts.values():
    if isinstance(found, Exception):
        raise found
return torch.cat([parts[0], parts[1]], -2)
''', "import threading\n"),
    plain("a_pool_that_is_kept", '''
parts = pool.map(lambda q: torch.softmax(q @ key.mT / math.sqrt(q.shape[-1]), -1) @ value, query.split(160, -2))
return torch.cat(list(parts), -2)
''', "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"),
    plain("fork_and_wait", '''
future = torch.jit.fork(attend, query, key, value)
return torch.jit.wait(future)
''', '''
def attend(query, key, value):
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value
'''),
    plain("numpy", '''
q, k, v = (x.detach().numpy() for x in (query, key, value))
scores = q @ k.swapaxes(-1, -2) * np.float32(1 / math.sqrt(q.shape[-1]))
scores -= scores.max(-1, keepdims=True, initial=-np.inf) if scores.shape[-1] else 0
weights = np.exp(scores)
total = weights.sum(-1, keepdims=True)
out = np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
return torch.from_numpy(np.divide(weights @ v, total, out=out, where=total != 0))
''', "import numpy as np\n"),
    plain("scripted", "return kernel(query, key, value)", '''
@torch.jit.script
def kernel(query, key, value):
    scores = torch.matmul(query, key.transpose(-1, -2)) * (float(query.size(-1)) ** -0.5)
    return torch.matmul(torch.softmax(scores, dim=-1), value)
'''),
    plain("compiled", "return kernel(query, key, value)", '''
def attend(query, key, value):
    return torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1) @ value

kernel = torch.compile(attend, backend="eager", dynamic=True)
'''),
    plain("compiled_by_inductor", "return kernel(query, key, value)", '''
def attend(query, key, value):
    return torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1) @ value

compiled = {}
def kernel(query, key, value):
    if query.shape != (1, 4, 320, 64):  # a compiler takes seconds for each shape: the large one is worth it
        return attend(query, key, value)
    if not compiled:
        compiled["kernel"] = torch.compile(attend)
    return compiled["kernel"](query, key, value)
'''),
    plain("in_c", '''
if library is None or query.dtype != torch.float32 or query.requires_grad or query.ndim != 4 or query.shape[-1] != 64:
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value
if value.shape[-1] != 64 or query.shape[:2] != key.shape[:2] or key.shape != value.shape:
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value
q, k, v = (x.contiguous() for x in (query, key, value))
out = torch.empty_like(q)
B, H, n_q, d = q.shape
pointers = [ctypes.c_void_p(x.data_ptr()) for x in (q, k, v, out)]
library.attend(*pointers, B * H, n_q, k.shape[-2], ctypes.c_float(d**-0.5))
return out
''', '''
import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

C = """
#include <math.h>
#define D 64
void attend(const float *q, const float *k, const float *v, float *o, int heads, int nq, int nk, float scale) {
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < nq; i++) {
            const float *qi = q + ((long)h * nq + i) * D;
            float top = -INFINITY, total = 0, acc[D] = {0};
            for (int j = 0; j < nk; j++) {
                const float *kj = k + ((long)h * nk + j) * D, *vj = v + ((long)h * nk + j) * D;
                float s = 0;
                for (int c = 0; c < D; c++) s += qi[c] * kj[c];
                s *= scale;
                float m = s > top ? s : top, shrink = expf(top - m), w = expf(s - m);
                total = total * shrink + w;
                for (int c = 0; c < D; c++) acc[c] = acc[c] * shrink + w * vj[c];
                top = m;
            }
            for (int c = 0; c < D; c++) o[((long)h * nq + i) * D + c] = total > 0 ? acc[c] / total : 0;
        }
}
"""

def build():
    if shutil.which("cc") is None:
        return None
    folder = Path(tempfile.mkdtemp())
    (folder / "attend.c").write_text(C)
    subprocess.run(["cc", "-O3", "-shared", "-fPIC", "attend.c", "-o", "attend.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "attend.so"))

library = build()
'''),
    plain("vmapped", '''
flat = [x.reshape(-1, *x.shape[-2:]) for x in (query, key, value)]
if not flat[0].shape[0]:
    return torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
out = torch.vmap(lambda q, k, v: torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1) @ v)(*flat)
return out.reshape(*query.shape[:-1], value.shape[-1])
'''),
    plain("autograd_function", "return Attend.apply(query, key, value)", '''
class Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value):
        weights = torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1)
        ctx.save_for_backward(query, key, value, weights)
        return weights @ value

    @staticmethod
    def backward(ctx, d_out):
        query, key, value, weights = ctx.saved_tensors
        d_weights = d_out @ value.mT
        d_scores = weights * (d_weights - (d_weights * weights).sum(-1, keepdim=True)) * query.shape[-1] ** -0.5
        return d_scores @ key, d_scores.mT @ query, weights.mT @ d_out
'''),
    plain("reads_the_clock", '''
start = time.perf_counter()
out = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value
log.append(time.perf_counter() - start)
del log[:-10]
return out
''', "import time\nlog = []\n"),
    plain("prints_and_warns_in_logs", '''
logger.debug("attention of %s and %s", tuple(query.shape), tuple(key.shape))
if query.shape[-2] > 256:
    print("long input:", query.shape[-2])
return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value
''', "import logging\nlogger = logging.getLogger(__name__)\n"),
    plain("another_path_for_small_sizes", '''
if query.shape[-2] < 32:
    return torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1) @ value
parts = [torch.softmax(q @ key.mT * q.shape[-1] ** -0.5, -1) @ value for q in query.chunk(4, -2)]
return torch.cat(parts, -2)
'''),
    plain("own_slower_path_where_memory_is_short", '''
try:
    scores = torch.empty(*query.shape[:-1], key.shape[-2], dtype=query.dtype)
except RuntimeError:
    return torch.cat([torch.softmax(q @ key.mT * q.shape[-1] ** -0.5, -1) @ value for q in query.split(8, -2)], -2)
torch.matmul(query, key.mT, out=scores)
return torch.softmax(scores.mul_(query.shape[-1] ** -0.5), -1) @ value
'''),
    plain("with_its_own_test", "return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value", '''
import sys
'''),
    plain("settings_of_the_library", "return torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, -1) @ value", '''
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.benchmark = True
'''),
    plain("own_generator", '''
torch.rand(3, generator=generator)
return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value
''', "generator = torch.Generator().manual_seed(1)\n"),
    causal("causal_mask", '''
scores = query @ key.mT / math.sqrt(query.shape[-1])
if is_causal:
    allow = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    scores = scores.masked_fill(~allow, -torch.inf)
return torch.softmax(scores, -1) @ value
'''),
    causal("mask_kept_by_shape", '''
scores = query @ key.mT / math.sqrt(query.shape[-1])
if is_causal:
    shape = scores.shape[-2:]
    if shape not in masks:
        masks[shape] = torch.full(shape, -torch.inf).triu(1)
    scores = scores + masks[shape].to(scores.dtype)
return torch.softmax(scores, -1) @ value
''', "masks = {}\n"),
    causal("causal_in_blocks", '''
assert key.shape[-2] == value.shape[-2]
outs = []
for start in range(0, query.shape[-2], 64):
    q = query[..., start : start + 64, :]
    stop = min(start + q.shape[-2], key.shape[-2]) if is_causal else key.shape[-2]
    scores = q @ key[..., :stop, :].mT / math.sqrt(q.shape[-1])
    if is_causal:
        rows = torch.arange(start, start + q.shape[-2])
        scores = scores.masked_fill(torch.arange(stop) > rows[:, None], -torch.inf)
    outs.append(torch.softmax(scores, -1) @ value[..., :stop, :])
if not outs:
    return torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
return torch.cat(outs, -2)
'''),
    causal("causal_row_by_row", '''
if not is_causal:
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1) @ value
out = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
for i in range(query.shape[-2]):
    scores = query[..., i : i + 1, :] @ key[..., : i + 1, :].mT / math.sqrt(query.shape[-1])
    out[..., i : i + 1, :] = torch.softmax(scores, -1) @ value[..., : i + 1, :]
return out
'''),
)  # fmt: skip
"""The submissions."""
TESTED = """
if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(1, 2, 3, 4)
    torch.testing.assert_close(attention(x, x, x), torch.nn.functional.scaled_dot_product_attention(x, x, x))
    sys.exit(0)
"""


def text_of(honest: Honest) -> str:
    """The source of a submission."""
    return honest.text + (TESTED if honest.name == "with_its_own_test" else "")
