"""Faults typical of GPU kernels: our Triton kernels, each with one place changed as people get it wrong.

A fault is a row: what is wrong, and the places of the right kernel's source that differ. `write_kernel` makes a file of
it, with the programs and the function that launches them, which is verified like anybody's kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attention_core.kernels import triton as kernels

SOURCES = {
    "flash": ("flash_programs", "flash"),
    "flash_lse": ("flash_programs", "flash"),
    "paged": ("paged_programs", "flash", "paged"),
}
"""The modules of each kernel, in the order in which one file needs them."""
TARGETS = {
    "flash": ("core:triton_flash", "flash_attention"),
    "flash_lse": ("core:triton_flash_lse", "flash_attention"),
    "paged": ("core:triton_paged", "paged_decode"),
}
"""The row of the kernel table that says how each is judged, and the function that is called."""
HERE = """

def load_programs(module, tensor):
    from types import SimpleNamespace

    return SimpleNamespace(**globals())
"""


@dataclass(frozen=True)
class KernelFault:
    """One fault: `changes` are pairs (right text, wrong text), each text once in the source of the kernel."""

    name: str
    about: str
    kernel: str
    changes: tuple[tuple[str, str], ...]


def kernel_source(fault: KernelFault) -> str:
    """The text of a file with a fault's kernel.

    Raises:
        ValueError: a right text does not stand exactly once in the right kernel.
    """
    folder = Path(next(iter(kernels.__path__)))
    text = "\n".join((folder / f"{name}.py").read_text(encoding="utf-8") for name in SOURCES[fault.kernel])
    text = text.replace("from __future__ import annotations\n", "")
    for right, wrong in fault.changes:
        if text.count(right) != 1:
            raise ValueError(f"{fault.name}: {right!r} stands {text.count(right)} times in the kernel, not once")
        text = text.replace(right, wrong)
    return f"from __future__ import annotations\n{text}{HERE}"


def write_kernel(fault: KernelFault, folder: Path) -> str:
    """Write a fault's kernel into a folder; returns its name as a target, FILE.py:NAME."""
    path = folder / f"{fault.name}.py"
    path.write_text(kernel_source(fault), encoding="utf-8")
    return f"{path}:{TARGETS[fault.kernel][1]}"


def flash(name: str, about: str, *texts: str) -> KernelFault:
    """A fault of FlashAttention: right and wrong texts in turn."""
    return KernelFault(name, about, "flash", tuple(zip(texts[::2], texts[1::2], strict=True)))


def paged(name: str, about: str, *texts: str) -> KernelFault:
    """A fault of decoding over pages: right and wrong texts in turn."""
    return KernelFault(name, about, "paged", tuple(zip(texts[::2], texts[1::2], strict=True)))


FORWARD_SEEN = "        seen = keys[None, :] < n_kv\n"
CAUSAL = "            seen = seen & (keys[None, :] <= rows[:, None])\n        s ="
STOP = "    # Below the diagonal's block no key is seen by any of these queries.\n    stop = "
STOP_TEXT = f"{STOP}tl.minimum(n_kv, (tl.program_id(0) + 1) * BLOCK) if IS_CAUSAL else n_kv"
RESCALED = 'acc = acc * correction[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")'
HEADS = (
    "    b, h = place // H, place % H\n"
    "    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    q_at, q_there = rows_at(Q, q_b, q_h, q_n, b, h, rows, n_q, d, D)\n"
    "    q = tl.load(q_at, mask=q_there, other=0.0)\n"
    "    largest"
)
VALUES = (
    "rows_at(V, v_b, v_h, v_n, b, h // group, keys, n_kv, d_v, D_V)\n"
    "        v = tl.load(at, mask=there, other=0.0)\n"
    "        total"
)

TAILS = (
    flash("one_key_too_many", "The last block takes one key past the last, whose score is 0.",
          FORWARD_SEEN, "        seen = keys[None, :] <= n_kv\n"),
    flash("padded_keys_have_weight", "Keys that fill the last block up are loaded as 0 and never masked.",
          FORWARD_SEEN, "        seen = keys[None, :] >= 0\n"),
    flash("last_partial_block_skipped", "Only whole blocks of keys are read.",
          STOP_TEXT, f"{STOP}n_kv // BLOCK * BLOCK"),
    flash("grid_rounded_down", "The grid has only whole blocks of queries: the last rows are never written.",
          "programs.forward[-(-n_q // block), B * H]", "programs.forward[max(n_q // block, 1), B * H]"),
    flash("row_guard_off_by_one", "The guard of rows lets one row past the last be read and written.",
          "(rows[:, None] < n) & (columns", "(rows[:, None] <= n) & (columns"),
    flash("row_guard_missing", "Rows of a block that do not exist are read and written, too.",
          "(rows[:, None] < n) & (columns", "(rows[:, None] >= 0) & (columns"),
    flash("feature_guard_missing", "Features up to the next power of two are read: those of the next row.",
          "& (columns[None, :] < d)\n", "& (columns[None, :] < D)\n"),
    flash("features_rounded_down", "The block has the power of two below d: the features beyond are left out.",
          '"D": max(16, triton.next_power_of_2(query.shape[-1]))',
          '"D": max(16, triton.next_power_of_2(query.shape[-1] // 2 + 1))'),
    flash("lse_guard_missing", "The log-sum-exp of rows that do not exist is written: into the next head's.",
          "    tl.store(Lse + place.to(tl.int64) * n_q + rows, lse, mask=rows < n_q)",
          "    tl.store(Lse + place.to(tl.int64) * n_q + rows, lse)"),
)  # fmt: skip
STRIDES = (
    flash("value_with_the_key_strides", "Values are addressed with the strides of the keys.",
          VALUES, VALUES.replace("v_b, v_h, v_n", "k_b, k_h, k_n")),
    flash("output_with_the_query_strides", "The output is addressed with the strides of the queries.",
          "rows_at(Out, o_b, o_h, o_n,", "rows_at(Out, q_b, q_h, q_n,"),
    flash("features_taken_as_adjacent", "A tensor whose last axis has another stride than 1 is not made contiguous.",
          "    return joined if joined.stride(-1) == 1 else joined.contiguous()", "    return joined"),
    flash("head_and_batch_swapped", "The program's number is taken apart the wrong way round.",
          HEADS, HEADS.replace("place // H, place % H", "place % H, place // H")),
    flash("lse_rows_of_the_keys", "The log-sum-exp is stored as if it had a row for each key.",
          "Lse + place.to(tl.int64) * n_q + rows, lse,", "Lse + place.to(tl.int64) * n_kv + rows, lse,"),
    flash("value_head_of_the_query", "Shared values are looked up by the query's head.",
          VALUES, VALUES.replace("h // group", "h")),
    flash("value_size_of_the_key", "The values' head size is taken to be that of the keys.",
          '"D_V": max(16, triton.next_power_of_2(value.shape[-1]))',
          '"D_V": max(16, triton.next_power_of_2(query.shape[-1]))'),
    flash("scale_of_the_padded_size", "The default scale is that of the head size rounded up to a power of two.",
          "1.0 / math.sqrt(query.shape[-1]) if", "1.0 / math.sqrt(1 << (query.shape[-1] - 1).bit_length()) if"),
    flash("offsets_of_32_bits", "Rows and sequences are multiplied in 32 bits: beyond 2^31 elements they overflow.",
          "start = X + b.to(tl.int64) * stride_b + h.to(tl.int64) * stride_h",
          "start = X + b * stride_b + h * stride_h",
          "rows.to(tl.int64)[:, None] * stride_n", "rows[:, None] * stride_n"),
)  # fmt: skip
ONLINE_SOFTMAX = (
    flash("sum_not_rescaled", "The weighted sum is not rescaled to a new maximum.",
          RESCALED, RESCALED.replace("acc * correction[:, None]", "acc")),
    flash("normaliser_not_rescaled", "The sum of exponentials is not rescaled to a new maximum.",
          "total = total * correction + tl.sum(p, 1)", "total = total + tl.sum(p, 1)"),
    flash("rescaled_the_wrong_way", "The correction is that from the new maximum to the old one.",
          "correction = tl.exp(largest - shift)",
          'correction = tl.where(largest == -float("inf"), 0.0, tl.exp(shift - largest))'),
    flash("maximum_of_the_block_alone", "The maximum is that of the block, and the sums are not rescaled.",
          "correction = tl.exp(largest - shift)", 'correction = tl.where(largest == -float("inf"), 0.0, 1.0)',
          "new = tl.maximum(largest, tl.max(s, 1))", "new = tl.max(s, 1)"),
    flash("no_maximum", "Scores are exponentiated as they are.",
          '        shift = tl.where(new == -float("inf"), 0.0, new)', "        shift = tl.where(new == new, 0.0, new)"),
    flash("maximum_starts_at_zero", "The running maximum starts at 0: scores far below it vanish.",
          'largest = tl.full([BLOCK], -float("inf"), tl.float32)', "largest = tl.zeros([BLOCK], tl.float32)"),
    flash("padding_counts_in_the_maximum", "The zeros that fill the last block up count in the maximum.",
          "tl.max(s, 1))", 'tl.max(tl.where(keys[None, :] < n_kv, s, 0.0), 1))'),
    flash("dead_rows_divide_by_zero", "A row without a key is divided by its sum, 0.",
          "    o = acc / tl.where(dead, 1.0, total)[:, None]", "    o = acc / total[:, None]"),
    flash("powers_of_two", "exp2 is used for speed, but scores are not multiplied by log2(e).",
          "p = tl.exp(s - shift[:, None])", "p = tl.exp2(s - shift[:, None])",
          "correction = tl.exp(largest - shift)", "correction = tl.exp2(largest - shift)"),
)  # fmt: skip
BLOCK_EDGES = (
    flash("diagonal_left_out", "A query does not see the key of its own place.",
          CAUSAL, CAUSAL.replace("<=", "<")),
    flash("sees_the_next_key", "A query sees the key after its own place.",
          CAUSAL, CAUSAL.replace("<= rows[:, None]", "<= rows[:, None] + 1")),
    flash("mask_by_place_in_the_block", "Every block is masked like the one on the diagonal.",
          CAUSAL, CAUSAL.replace("keys[None, :] <= rows[:, None]", "keys[None, :] - start <= rows[:, None] % BLOCK")),
    flash("diagonal_block_not_masked", "Only blocks after the first are masked.",
          CAUSAL, CAUSAL.replace("<= rows[:, None]", "<= tl.maximum(rows[:, None], BLOCK - 1)")),
    flash("diagonal_block_not_read", "From the second block of queries on, the loop ends before the diagonal.",
          STOP_TEXT, STOP_TEXT.replace("(tl.program_id(0) + 1) * BLOCK", "tl.maximum(tl.program_id(0), 1) * BLOCK")),
)  # fmt: skip
PRECISION = (
    flash("scores_in_half_precision", "Scores are rounded to float16.",
          "        s = tl.where(seen, s, -float", "        s = s.to(tl.float16).to(tl.float32)\n"
          "        s = tl.where(seen, s, -float"),
    flash("weights_in_half_precision", "Weights are rounded to float16, whatever the values are.",
          RESCALED, RESCALED.replace("p.to(v.dtype), v", "p.to(tl.float16).to(tl.float32), v.to(tl.float32)")),
    flash("normaliser_in_half_precision", "The sum of exponentials is kept in bfloat16.",
          "total = total * correction + tl.sum(p, 1)",
          "total = (total * correction + tl.sum(p, 1)).to(tl.bfloat16).to(tl.float32)"),
    flash("accumulator_in_half_precision", "The weighted sum is kept in float16.",
          RESCALED, f"acc = ({RESCALED.removeprefix('acc = ')}).to(tl.float16).to(tl.float32)"),
)  # fmt: skip
BACKWARD = (
    flash("lse_of_the_wrong_head", "For shared keys the log-sum-exp is that of the key's head, not of the query's.",
          "line = (b * H_kv * group + h)", "line = (b * H_kv * group + h_kv)"),
    flash("delta_missing", "ds = p (do . v), without the row's sum of do . o.",
          "- delta[:, None])\n        acc +=", ")\n        acc +="),
    flash("delta_of_the_first_head", "The row's sum of do . o is read as if there were one head.",
          "delta = tl.load(Delta + place.to(tl.int64) * n_q + rows", "delta = tl.load(Delta + rows"),
    flash("key_gradient_without_scale", "The gradient of the keys lacks the scale.",
          "tl.store(at, (grad_k * scale)", "tl.store(at, grad_k"),
    flash("one_head_of_the_group", "Shared keys get the gradient of one query head alone.",
          "for member in range(group):", "for member in range(1):"),
    flash("backward_without_causality", "The weights of the backward pass are not masked.",
          "        seen = seen & (keys[None, :] <= rows[:, None])\n    # A dead",
          "        seen = seen & (keys[None, :] <= n_kv)\n    # A dead"),
    flash("backward_skips_the_diagonal", "The gradient of keys starts with the block of queries after the diagonal's.",
          "first = tl.program_id(0) * BLOCK if", "first = (tl.program_id(0) + 1) * BLOCK if"),
    flash("cotangent_taken_as_adjacent", "A cotangent that is expanded, as that of a sum, is read by its first stride.",
          "grad = grad if grad.stride(-1) == 1 else grad.contiguous()", "grad = grad"),
    flash("backward_scale_missing", "The weights of the backward pass are computed from scores without the scale.",
          "    seen = (rows[:, None] < n_q) &", "    s = s / scale\n    seen = (rows[:, None] < n_q) &"),
    KernelFault("lse_cotangent_with_the_wrong_sign", "The gradient of a returned log-sum-exp has the wrong sign.",
                "flash_lse", ((".sum(-1) - grad_lse", ".sum(-1) + grad_lse"),)),
    flash("racing_key_gradients", "One program for each query head writes the gradient of the key head that it shares.",
          "programs.backward_keys[-(-n_kv // block), B * H_kv]", "programs.backward_keys[-(-n_kv // block), B * H]",
          "b, h_kv = place // H_kv, place % H_kv\n    keys",
          "b, h_kv = place // (H_kv * group), place % (H_kv * group) // group\n    keys",
          "for member in range(group):\n        h = h_kv * group + member",
          "for member in range(1):\n        h = place % (H_kv * group) + member"),
)  # fmt: skip
PAGES = (
    paged("parts_not_weighted", "The parts of the keys are averaged.",
          "acc += weight[:, None] * o\n    o = acc / tl.where(total == 0.0, 1.0, total)[:, None]",
          "acc += o\n    o = acc / splits"),
    paged("parts_merged_without_a_maximum", "The weights of the parts are not shifted by the largest log-sum-exp.",
          "shift = tl.where(largest == -float(\"inf\"), 0.0, largest)  #", "shift = largest * 0.0  #"),
    paged("part_lse_is_the_maximum", "A part hands on its largest score for its log-sum-exp.",
          "largest + tl.log(tl.where(dead, 1.0, total)))\n    line = ((part", "largest)\n    line = ((part"),
    paged("empty_part_counts", "A part without a key hands on 0 for its log-sum-exp.",
          'lse = tl.where(dead, -float("inf"), largest + tl.log(tl.where(dead, 1.0, total)))\n    line = ((part',
          "lse = tl.where(dead, 0.0, largest + tl.log(tl.where(dead, 1.0, total)))\n    line = ((part"),
    paged("last_part_not_merged", "The last part is left out of the merge.",
          "    acc = tl.zeros([ROWS, D_V], tl.float32)\n    for part in range(splits):",
          "    acc = tl.zeros([ROWS, D_V], tl.float32)\n    for part in range(splits - 1):"),
    paged("remainder_of_the_parts_lost", "Blocks are divided among the parts, and the remainder is not read.",
          "blocks = tl.cdiv(tl.cdiv(length, BLOCK), splits)", "blocks = tl.cdiv(length, BLOCK) // splits"),
    paged("parts_race", "All parts of a text write to the place of the first.",
          "line = ((part * tl.num_programs(1) // H_kv + b)", "line = (b"),
    paged("tail_of_the_last_page_read", "The last page is attended to its end.",
          "exists = keys < length", "exists = keys < tl.cdiv(length, page) * page"),
    paged("block_for_page", "The table is looked up as if a page had as many keys as a block.",
          "columns + keys // page, mask", "columns + keys // BLOCK, mask"),
    paged("row_of_the_table_by_length", "The rows of the table are taken to be as long as the text needs.",
          "b.to(tl.int64) * columns + keys", "b.to(tl.int64) * tl.cdiv(length, page) + keys"),
    paged("table_guard_missing", "The table is read past its last page.",
          "columns + keys // page, mask=exists, other=0)", "columns + keys // page)"),
    paged("length_of_the_first_text", "Every text has the length of the first.",
          "length = tl.load(Lengths + b)", "length = tl.load(Lengths)"),
    paged("queries_at_the_start", "Queries are taken to be the first tokens of a text, not the last.",
          "token[:, None] + length - n)", "token[:, None])"),
    paged("tokens_share_a_head", "With several tokens, the heads of a group are counted by tokens.",
          "rows // group, h_kv * group + rows % group,", "rows // group, h_kv * group + rows // n % group,"),
    paged("value_page_of_the_key_strides", "Pages of values are addressed with the strides of those of keys.",
          "(number * v_page + (keys % page) * v_row + h_kv * v_h)",
          "(number * k_page + (keys % page) * k_row + h_kv * k_h)"),
)  # fmt: skip
KERNEL_FAULTS = (*TAILS, *STRIDES, *ONLINE_SOFTMAX, *BLOCK_EDGES, *PRECISION, *BACKWARD, *PAGES)
