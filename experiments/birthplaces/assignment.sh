#!/bin/sh
# The commands of the assignment (source 003, 2(d) to 2(g)) as printed, with `finetune` in the place of `python src/run.py`,
# and its collect_submission.sh: nine files under the source's names, in a zip.
#
#     sh experiments/birthplaces/assignment.sh NAME [FILE.toml]
#
# Run it where wiki.txt, birth_places_train.tsv, birth_dev.tsv and birth_test_inputs.tsv lie. FILE.toml has other settings
# (`finetune ... --config`); with the source's own, each pretraining takes about 20 hours of a core.
set -eu
name=${1:?a name for assignment_NAME.zip}
run() { finetune "$@" ${config:+--config "$config"}; }
config=${2:-}

# 2(d): without pretraining
run finetune vanilla wiki.txt --writing_params_path vanilla.model.params --finetune_corpus_path birth_places_train.tsv
run evaluate vanilla wiki.txt --reading_params_path vanilla.model.params --eval_corpus_path birth_dev.tsv \
    --outputs_path vanilla.nopretrain.dev.predictions
run evaluate vanilla wiki.txt --reading_params_path vanilla.model.params --eval_corpus_path birth_test_inputs.tsv \
    --outputs_path vanilla.nopretrain.test.predictions
finetune baseline --answer London --eval_corpus_path birth_dev.tsv

# 2(f) and 2(g): pretrain, fine-tune, evaluate
for model in vanilla synthesizer; do
    run pretrain "$model" wiki.txt --writing_params_path "$model.pretrain.params"
    run finetune "$model" wiki.txt --reading_params_path "$model.pretrain.params" \
        --writing_params_path "$model.finetune.params" --finetune_corpus_path birth_places_train.tsv
    run evaluate "$model" wiki.txt --reading_params_path "$model.finetune.params" --eval_corpus_path birth_dev.tsv \
        --outputs_path "$model.pretrain.dev.predictions"
    run evaluate "$model" wiki.txt --reading_params_path "$model.finetune.params" --eval_corpus_path birth_test_inputs.tsv \
        --outputs_path "$model.pretrain.test.predictions"
done

python -m zipfile -c "assignment_$name.zip" vanilla.model.params vanilla.nopretrain.dev.predictions \
    vanilla.nopretrain.test.predictions vanilla.finetune.params vanilla.pretrain.dev.predictions \
    vanilla.pretrain.test.predictions synthesizer.finetune.params synthesizer.pretrain.dev.predictions \
    synthesizer.pretrain.test.predictions
echo "assignment_$name.zip"
