"""Every command line that the assignments print, typed as printed where `finetune scripts` has been, on tiny data.

What stands for a variable is filled in, and a name on the hub is a folder of that name; with full settings and real
data some of these lines take hours.
"""

from __future__ import annotations

import runpy
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from finetune.cli.main import app
from tests.tiny_birthplaces import CORPUS, FILES, NAMES, TINY
from tests.tiny_encoders import sentences, write_boolq, write_encoder

BASIC = 'python base_classification.py --small_subset --device {device} --model "distilbert-base-uncased" --batch_size "64" --lr 1e-4 --num_epochs 20'
"""Source 000, 3.1.1."""
YELP = r"""python classifier.py \
--model_type bert \
--model_name_or_path huawei-noah/TinyBERT_General_4L_312D \
--task_name yelp \
--do_train \
--do_eval \
--data_dir yelp_small \
--per_gpu_train_batch_size 32 \
--learning_rate 3e-5 \
--num_train_epochs 3 \
--max_seq_length 40 \
--output_dir out \
--evaluate_during_training \
--overwrite_output_dir"""
"""Source 002, problem 2."""
JOINT = r"""python classifier_mlm.py \
   -model_type bert \
   —model_name_or_path huawei-noah/TinyBERT_General_4L_312D \
   —task_name yelp \
   -do_train \
   -do_eval \
   —data_dir yelp_small \
   —per_gpu_train_batch_size 32 \
   —learning_rate 3e-5 \
   —num_train_epochs 3 \
   -logging_steps 50 \
   —max_seq_length 40 \
   —output_dir out \
   —evaluate_during_training \
   -train_data_file unlabeled/unlabeled_train_50000.txt \
   —block_size 40 \
   --mlm_alpha 0.5 \
   —line_by_line \
   -overwrite_output_dir"""
"""Source 002, problem 3, with its dashes."""
BIRTHPLACES = r"""python src/dataset.py namedata
python src/run.py finetune vanilla wiki.txt \
--writing_params_path vanilla.model.params \
--finetune_corpus_path birth_places_train.tsv
python src/run.py evaluate vanilla wiki.txt \
--reading_params_path vanilla.model.params \
--eval_corpus_path birth_dev.tsv \
--outputs_path vanilla.nopretrain.dev.predictions
python src/run.py evaluate vanilla wiki.txt \
--reading_params_path vanilla.model.params \
--eval_corpus_path birth_test_inputs.tsv \
--outputs_path vanilla.nopretrain.test.predictions
python src/london_baseline.py
python src/dataset.py charcorruption
python src/run.py pretrain vanilla wiki.txt \
        -- writing_params_path vanilla.pretrain.params
python src/run.py finetune vanilla wiki.txt \
        -- reading params path vanilla.pretrain.params \
        -- writing params path vanilla.finetune.params \
        -- finetune_corpus_path birth_places_train.tsv
python src/run.py evaluate vanilla wiki.txt \
        -- reading params path vanilla.finetune.params \
        --eval_corpus_path birth_dev.tsv \
        -- outputs path vanilla.pretrain.dev.predictions
python src/run.py evaluate vanilla wiki.txt \
        -- reading_params_path vanilla.finetune.params \
        -- eval corpus path birth_test_inputs.tsv \
        -- outputs path vanilla.pretrain.test.predictions
python src/run.py pretrain synthesizer wiki.txt \
    --writing_params_path synthesizer.pretrain.params
python src/run.py finetune synthesizer wiki.txt \
--reading_params_path synthesizer.pretrain.params \
--writing_params_path synthesizer.finetune.params \
--finetune_corpus_path birth_places_train.tsv
python src/run.py evaluate synthesizer wiki.txt \
--reading_params_path synthesizer.finetune.params \
--eval_corpus_path birth_dev.tsv \
--outputs_path synthesizer.pretrain.dev.predictions
python src/run.py evaluate synthesizer wiki.txt \
--reading_params_path synthesizer.finetune.params \
--eval_corpus_path birth_test_inputs.tsv \
--outputs_path synthesizer.pretrain.test.predictions"""
"""Source 003, 2(b) to 2(g), with the gaps of its print."""


def write_yelp(folder: Path) -> None:
    """The three files of the course's reviews, with 1 or 5 stars."""
    folder.mkdir()
    for seed, side in enumerate(("train", "valid", "test")):
        rows = "".join(f'"{1 + 4 * label}","{text}"\n' for label, text in sentences(20, seed))
        (folder / f"{side}.csv").write_text(rows, encoding="utf-8")


def commands(text: str) -> list[str]:
    """The commands of a text, each with the lines that it goes on in."""
    return text.replace("\\\n", " ").splitlines()


def type_line(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a line `python FILE ...` in this process; its exit status and what it wrote."""
    program, *words = shlex.split(line)
    assert program == "python"
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(words[0], run_name="__main__")
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out + told.err


def scripts(*arguments: str) -> str:
    """What `finetune scripts` prints."""
    told = CliRunner().invoke(app, ["scripts", *arguments], catch_exceptions=False)
    assert told.exit_code == 0, told.output
    return told.output


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_first_assignment(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    write_encoder(Path("distilbert-base-uncased"))
    write_boolq(Path("data/boolq"))
    assert scripts("000").splitlines()[0] == "written: base_classification.py"
    status, told = type_line(BASIC.format(device="cpu"), monkeypatch, capsys)
    assert "full tuning of distilbert-base-uncased on data/boolq, seed 0" in told
    assert status == 1 and "the small subset was not learnt by heart" in told, "so tiny a model learns nothing at 1e-4"
    options = "--small_subset --device cpu --model distilbert-base-uncased --num_epochs 1"
    for line, words in {
        f"python classification.py {options} --type prefix --prompt_length 4": "--type prefix: 4 vectors",
        f"python classification.py {options} --type head": "head tuning of",
        f"python classification_lora.py {options}": "lora tuning of",
    }.items():
        assert words in type_line(line, monkeypatch, capsys)[1]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    status, told = type_line("python openai_gpt-boolq.py", monkeypatch, capsys)
    assert status == 2 and "OPENAI_API_KEY" in told
    submitted = subprocess.run(["sh", "-n", "sbatch.sh"], capture_output=True, text=True, check=True)
    assert submitted.stderr == "" and 'python base_classification.py "$@"' in Path("sbatch.sh").read_text()


def test_a_gpu_that_is_not_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    write_encoder(Path("distilbert-base-uncased"))
    write_boolq(Path("data/boolq"))
    scripts("000")
    status, told = type_line(BASIC.format(device="cuda"), monkeypatch, capsys)
    assert status == 2 and told.splitlines()[-1].startswith("finetune: ") and "cuda" in told.splitlines()[-1]


def test_the_assignment_with_reviews(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    write_encoder(Path("huawei-noah/TinyBERT_General_4L_312D"))
    write_yelp(Path("yelp_small"))
    Path("unlabeled").mkdir()
    Path("unlabeled/unlabeled_train_50000.txt").write_text("the film was good .\nwho was it ?\n" * 5)
    scripts("002")
    for text in (YELP, JOINT):
        (line,) = commands(text)
        status, told = type_line(line, monkeypatch, capsys)
        assert status == 0 and "test: accuracy " in told, told
    assert "masked-LM on 10 blocks, 0 of them cut, with the weight 0.5" in told


def test_the_assignment_with_birthplaces(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {
        "wiki.txt": CORPUS, "birth_places_train.tsv": NAMES, "birth_dev.tsv": NAMES, "tiny.toml": TINY,
        "birth_test_inputs.tsv": "Where was Ada Byron born?\n",
    }.items():  # fmt: skip
        Path(name).write_text(text, encoding="utf-8")
    scripts("003", ".", "--config", "tiny.toml")
    said = {}
    for line in commands(BIRTHPLACES):
        status, said[line] = type_line(line, monkeypatch, capsys)
        assert status == 0, (line, said[line])
    assert said["python src/london_baseline.py"] == "Correct: 1 out of 2: 50.0%\n"
    assert said["python src/dataset.py namedata"].count("\ny: ") == 2
    assert all(Path(name).stat().st_size for name in FILES)
    shell = f'python() {{ "{sys.executable}" "$@"; }}; . ./collect_submission.sh'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stdout == "assignment_yourname.zip\n"
    with zipfile.ZipFile("assignment_yourname.zip") as found:
        assert sorted(found.namelist()) == FILES
    Path(FILES[0]).unlink()
    done = subprocess.run(["sh", "collect_submission.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr == f"{FILES[0]} is missing\n"


def test_a_script_that_is_there_is_not_replaced(folder: Path) -> None:
    Path("classifier_mlm.py").write_text("my own\n")
    told = CliRunner().invoke(app, ["scripts", "002"])
    assert told.exit_code == 2 and told.output.startswith("finetune: classifier_mlm.py exists and is not replaced")
    assert Path("classifier_mlm.py").read_text() == "my own\n" and not Path("classifier.py").exists()
