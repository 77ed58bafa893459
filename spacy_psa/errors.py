"""The catalogue of our errors and warnings: what is wrong, where, and what to do about it.

As in spaCy, each message has a code, so that users can look it up and tests can tell one from
another. `Errors.P001` is a template to be filled in by `str.format`.
"""

import re
import warnings
from collections.abc import Iterable
from difflib import get_close_matches


class _Coded(type):
    """Put the attribute's name before its text: `Errors.P001` → `"[P001] …"`."""

    def __getattribute__(cls, name: str) -> str:
        value = super().__getattribute__(name)
        return f"[{name}] {value}" if re.fullmatch(r"[PW]\d{3}", name) else value


class Errors(metaclass=_Coded):
    # Inference (P0xx)
    P001 = (
        "The potentials do not fit together: {problem}. Expected emissions (N, L) with "
        "sum(lengths) = N, transitions (L, L), start (L,), end (L,) and pairwise (N, L, L)."
    )
    P002 = "Unknown inference backend '{name}'.{suggestion} Choose one of: {options}."
    P003 = "The labels do not fit the potentials: {problem}."
    P004 = (
        "The constraints do not fit: {problem}. Expected booleans, transitions (L, L), start (L,) "
        "and end (L,), for as many labels L as the potentials have."
    )
    P006 = (
        "Two distributions can only be compared over the same chains, with the same kinds of "
        "potentials (emissions, transitions, start, end, pairwise)."
    )
    P007 = (
        "What the backends 'scaled' and 'fused' return can be differentiated once, not twice. "
        "Choose the backend 'logspace' or 'scan' to differentiate it again."
    )
    P014 = "'{name}' has to be a whole number, at least 1, not {value!r}."
    P015 = (
        "The sets of labels do not fit the spans: they are {problem}. Give one row of booleans for "
        "each token of each span, one span after the other, with a column for each label."
    )
    P016 = (
        "The spans do not fit the chains: {problem}. A span is a pair (start, stop) of places "
        "among the tokens of all chains, 0 <= start <= stop, and ends in the chain that it starts "
        "in."
    )
    P017 = (
        "The costs do not fit: {problem}. Expected finite costs (L, L), one for each right label "
        "(row) and chosen label (column), with zeros on the diagonal."
    )
    P018 = (
        "Costs cannot be made of these weights of labels: {problem}. Expected one positive, finite "
        "number for each label."
    )
    P019 = "A temperature has to be one positive, finite number, not {temperature}."

    # Annotation: tag schemes (P100-P105)
    P100 = "Unknown tag scheme '{name}'.{suggestion} Choose one of: {options}."
    P101 = (
        "The span ({start}, {end}, '{label}') does not lie within the {length} tokens. A span has "
        "at least one token: 0 <= start < end <= number of tokens."
    )
    P102 = (
        "The span ({start}, {end}, '{label}') overlaps with one that ends before token {last_end}. "
        "Tags can only stand for spans that do not overlap: leave one of them out, e.g. with "
        "spacy.util.filter_spans."
    )
    P103 = "'{tag}' is not a tag of the scheme {scheme}: expected one of {expected}."
    P104 = "'{tag}' may not follow {before} in the scheme {scheme}."
    P105 = "A sentence may not end with '{tag}' in the scheme {scheme}: the span is not closed."

    # Evaluation (P106-P107)
    P106 = (
        "Sentence {index} has {gold} gold tags but {predicted} predicted ones. Both must have one "
        "tag a token of the same tokens."
    )
    P107 = (
        "The gold standard has {gold} sentences, the predictions have {predicted}. Compare the "
        "same sentences in the same order."
    )

    # Corpora (P108-P119)
    P108 = (
        "No path to a corpus given. Set it in the config, or on the command line, e.g. "
        "--paths.train corpus/train.txt."
    )
    P109 = "There is no file {path}. Check the path, or run first what makes the file."
    P110 = "{path} is a directory, not a file. Give the path of one of the files in it: {files}."
    P111 = (
        "{path} has no sentences: it is empty, or has nothing but blank lines and comments. "
        "Expected lines of {columns}, with a blank line after each sentence."
    )
    P112 = (
        "{path}, line {line}: found {found} columns, expected {expected} ({columns}). Columns are "
        "parted by blanks or tabs, and a blank line ends a sentence: correct the line, or choose "
        "the format that the file has."
    )
    P113 = (
        "{path}, line {line}: not valid UTF-8 at byte {byte} of the line. Convert the file first, "
        "e.g. with: iconv -f ISO-8859-1 -t UTF-8."
    )
    P114 = (
        "{path}, line {line}: this is a binary file, or text in UTF-16. Expected text in UTF-8, "
        "plain or compressed by gzip: unpack or convert the file first."
    )
    P115 = (
        "{path} is damaged{where}: the gzip data ends too early or is corrupt "
        "({reason}). Get the file again."
    )
    P116 = (
        "{path}, line {line}: '{tag}' in the column {column} is not a tag. Expected O or a tag "
        "such as B-NP: are the columns of the file really {columns}?"
    )
    P117 = (
        "{path}, line {line}: no known format has {found} columns. Expected one of: {formats}. "
        "Name the format with --format, and correct the file if it should be one of these."
    )
    P118 = (
        "n_sents is {n_sents}, but must be {expected}: it is the number of sentences in each Doc."
    )
    P119 = "Unknown format '{name}'. Choose one of: {options}."

    # Corpora: all formats (P141-P149)
    P141 = (
        "{path}, line {line}: more than {limit:,} {what}. Expected text with a blank line after "
        "each sentence: check that this is a file of the format."
    )
    P142 = "The format {form} cannot take {problem}. Its options are: {options}."
    P143 = (
        "The format {form} has no layer for the target '{target}'. It has the targets: {options}."
    )
    P144 = (
        "{path}, line {line}: '{tag}' in the column {column} is not allowed: {problem}. Correct "
        "the file, name its scheme (--option scheme=…), or count such tags with --lenient."
    )
    P145 = "{path}, line {line}: {problem}. Expected {expected}."
    P146 = (
        "{path}, line {line}: in the sentence that begins here, the {layer} {first} and {second} "
        "overlap (start, end, label). Expected spans that do not: correct the file, or keep the "
        "longer one with --lenient."
    )
    P147 = (
        "{path}: the document that begins at line {line} has more than {limit:,} tokens. Choose a "
        "number of sentences for each Doc with n_sents (--n-sents)."
    )
    P148 = (
        "{n} files cannot each become {output}. Add --merge to convert all of them into one, or "
        "give a folder as output, which gets a .spacy file for each."
    )
    P149 = "There are no {kind} in the folder {path}. Check the path, or name the --format."

    # Corpora: treebanks (P150-P159)
    P150 = (
        "{path}, line {line}: {problem}. Expected bracketed trees, such as ( (S (NP (DT the) "
        "(NN dog) ) (VP (VBZ barks) ) (. .) )): correct the file, or get it again."
    )
    P151 = (
        "{path}, line {line}: '{token}' is not a word with its tag. Expected word/TAG, with "
        "slashes of the word written as \\/: correct the file, or choose its format or kind."
    )
    P152 = (
        "{path}, line {line}: {problem}. Expected a line such as 'ID=wsj_0001.1 PARSER=GOLD "
        "NUMPARSE=1', and after it the derivation, (<T S[dcl] 1 2> (<L N NN NN dog N>) …), in one "
        "line: correct the file, or get it again."
    )
    P153 = (
        "There are no {suffixes} files in {path}{reason}: unpack {name} and give its folder, which "
        "has files such as {layout}."
    )
    P154 = (
        "The sections {missing} are not in {path}, which has {suffix} files of the sections "
        "{found}: give the folder that has all sections, or choose other ones."
    )
    P155 = "Invalid value for '{name}': {value!r}. It must be {expected}."
    P156 = (
        "'{name}' chooses from the files of a folder, but {path} is a single file: give the folder "
        "of the corpus, or leave out '{name}'."
    )
    P157 = (
        "The document {document} is there twice, as {first} and {second}: give the path of the "
        "folder that has one of them."
    )
    P158 = "{path} has no sentences. Expected {expected}: is the copy complete?"
    P159 = (
        "{n_missing} of the {n_listed} documents listed in {file_list} are not in {path}, such as "
        "{examples}: give the folder that has them all, or the list of another split."
    )

    # Corpora: frames and export (P160-P169)
    P160 = (
        "{path} has no file of {missing} beside it. Expected {expected}, also with .gz. A file "
        "that has words and propositions in one must not be named .words or .props."
    )
    P161 = (
        "{path}, line {line}: the words are missing, there is [WORD] in their place. This is a "
        "skeleton of the public release: fill it from OntoNotes 5.0 (LDC2013T19) with the script "
        "skeleton2conll.sh of the shared task."
    )
    P163 = (
        "{path}, line {line}: cannot tell which column has the target verbs. Expected words, "
        "targets and a column for each target, or the eight columns of the shared task. Give the "
        "number of the column, from 0, as target_column."
    )
    P164 = "Unknown format for export '{name}'. Choose one of: {options}."
    P165 = (
        "Sentence {index} ('{text}') cannot be written as {form}: {problem}. Choose another "
        "format, or correct the Doc."
    )

    # Command line (P120-P131)
    P120 = "The output {path} must be a file with the ending .spacy, or spaCy will not find it."
    P121 = (
        "{path} is not a DocBin in spaCy's binary format. Expected a .spacy file, as written by "
        "'spacy convert', 'spacy apply' or 'spacy psa convert'."
    )
    P122 = (
        "Cannot hold out {n} of the {total} Docs in {path}: choose a number from 1 to {largest}, "
        "so that both parts have some."
    )
    P123 = "Two outputs are the same file, {path}. Give them different names."
    P124 = (
        "{gold_path} has {gold} Docs, but {predicted_path} has {predicted}. Make the predictions "
        "on that very gold file, e.g. with 'spacy apply'."
    )
    P125 = (
        "The words of Doc {index} are not the same in {gold_path} and {predicted_path}. Make the "
        "predictions on that very gold file, e.g. with 'spacy apply'."
    )
    P126 = (
        "Doc {index} in {path} has no annotation of {layer}. Choose a --target that is annotated; "
        "for spans also the --spans-key: {keys}."
    )
    P127 = "Unknown target '{name}'. Choose one of: {options}."
    P128 = (
        "{path} has none of the scores that we know. Expected a JSON file as written by 'spacy "
        "evaluate --output' or 'spacy benchmark accuracy --output'."
    )
    P129 = (
        "Could not download {url} ({reason}): check the address and the network, or get the file "
        "by other means and name its folder with --local."
    )
    P130 = (
        "The text from {source} is not the expected one: its SHA-256 is {found}, expected "
        "{expected}. Nothing was written; get the file again, or correct the checksum."
    )
    P131 = "There is none of the files {names} in the folder {folder}. Check --local."
    P132 = (
        "{first} and {second} would both become {output}. Convert them one by one with names of "
        "your own, or add --merge."
    )
    P133 = (
        "No sentence in {path} has the target '{target}': this file is not annotated with it. "
        "Leave out the --target, or choose one of: {options}."
    )
    P134 = "Doc {index} in {path} has {layer} that tags cannot stand for: {problem}."
    P140 = "There is nothing to tag. Give texts on the command line, or a file of them with --file."

    # Published figures and licensed corpora (P170-P179)
    P170 = "No corpus is known by the name '{name}'. Choose one of: {options}."
    P171 = "Nothing is published of a split '{split}' of {corpus}. Choose one of: {options}."
    P172 = (
        "{paths} is not {corpus} ({split}) as published: {differences}. Check that the corpus is "
        "complete, of that release, and split and converted as in docs/corpora.md."
    )
    P173 = "There is no {path}. {how}"
    P174 = (
        "{path} does not have the sizes of '{split}'. Expected the stats.xml of a Universal "
        "Dependencies treebank, which has those of 'total', and in newer releases of the splits."
    )
    P175 = (
        "Nothing to compare. Give the .spacy files of a split and the name of the --corpus (or "
        "--stats FILE), or --table for the published figures."
    )
    P176 = (
        "Cannot read vectors from {path} ({reason}). Expected text, with a word and its numbers on "
        "each line, plain or compressed; of an archive with several files name one with --member."
    )
    P177 = "No treebank is known by the code '{code}'. Choose one of: {options}."
    P178 = (
        "{path} has {total} Docs: there must be at least 2 to hold some out. Convert with fewer "
        "sentences in a Doc (--n-sents)."
    )
    P179 = (
        "{path}: the format cannot be told, since the lines have {widths} columns. If it is a "
        "corpus, name its --format. The formats are: {options}."
    )

    # Configs (P190-P199)
    P190 = "There is no --{option} {name}. Did you mean '{nearest}'? Choose one of: {options}."
    P191 = "There is a file {path} already. Add --force to replace it, or choose another name."
    P192 = (
        "{path} has no documents to count the steps of an epoch by. Check the path of the "
        "--corpus, and that it has been converted."
    )
    P193 = (
        "spaCy cannot make a pipeline for the language '{lang}' ({problem}). Check the code of the "
        "--lang, or install what the message asks for."
    )
    P194 = (
        "There is nothing to choose by {option} for the task {task}: each of its systems has its "
        "own. Leave the option out, and change the section of the config."
    )

    # Models (P2xx)
    P201 = (
        "The model has no weights yet. Call nlp.initialize() with training examples, or load a "
        "trained pipeline."
    )
    P202 = (
        "The model data is damaged or incomplete ({problem}). Copy the pipeline again from where "
        "it was saved; nothing has been changed."
    )
    P203 = (
        "The model data belongs to another configuration: {problem}. Load it with the config.cfg "
        "that was saved next to it, e.g. by spacy.load."
    )
    P204 = "Unknown attribute '{name}' to look words up by.{suggestion} Choose one of: {options}."
    P205 = (
        "There are no training documents to take words from. Check the path of the training "
        "corpus, and that it is not empty."
    )
    P206 = (
        "The model's word embeddings are {width} wide, but the pipeline's vectors {found}. Leave "
        "'width' of the tok2vec empty, set it to {found}, or use vectors of width {width} in "
        "[initialize] vectors."
    )
    P207 = (
        "The model was trained with vectors of width {width}, but the pipeline's vectors are "
        "{found} wide. Load the pipeline with the vectors that it was trained with (its 'vocab' "
        "must not be excluded)."
    )
    P208 = (
        "The overlap of windows ({overlap}) must be at least 0 and smaller than max_length "
        "({max_length})."
    )
    P209 = (
        "The width of the tok2vec layer is unknown, and there are no documents to find it out "
        "from. Call nlp.initialize() with training examples."
    )
    P210 = "Invalid value for '{name}': {value}. It must be {expected}."
    P211 = (
        "All layers of a label refinement have to be as wide as the label embeddings, {expected}, "
        "but layer {layer} is {width} wide. Choose a 'recurrent' encoder whose width does not "
        "depend on its input, or the connection spacy_psa.ResidualNorm.v1."
    )
    P212 = (
        "Layers with {n_latent} labels of their own (n_latent) cannot share parameters with a "
        "decoder that has the labels of the task. Leave n_latent empty, or set tie_embeddings and "
        "tie_transitions to false."
    )
    P213 = (
        "The label attention has {heads} heads, which do not divide the width {width} of the "
        "hidden states. Change 'heads', or the width of the 'recurrent' encoder."
    )
    P214 = (
        "An optimizer cannot update an array that is read-only. Give it a copy, which may be "
        "written to (array.flags.writeable)."
    )
    P220 = (
        "{n_heads} attention heads cannot share a width of {width} evenly. Choose a width that is "
        "a multiple of the number of heads, or set 'key_width', the width of each head."
    )

    # Embeddings (P240-P249)
    P240 = (
        "There is nothing to concatenate. Give 'spacy_psa.ConcatTok2Vec.v1' one or more "
        "embeddings, in sections such as [components.psa_tagger.model.tok2vec.*.words]."
    )
    P241 = (
        "'spacy_psa.LastLayers.v1' has no transformer to listen to. Put a component 'transformer' "
        "before this one in the pipeline, or give it a transformer of its own in its section "
        "'transformer'."
    )
    P242 = (
        "There are no hidden states of a transformer for the document beginning '{text}'. Set "
        "output_hidden_states = true in the transformer's [transformer_config], and check that "
        "the component 'transformer' is not disabled; in training it must be updated, or frozen "
        "and in annotating_components."
    )
    P243 = (
        "The mean of {n_layers} layers was asked for, but the transformer has {found}. Lower "
        "n_layers of 'spacy_psa.LastLayers.v1'."
    )
    P244 = (
        "'character_initialization' takes the embeddings of characters from the pipeline's "
        "vectors, but there are none. Set [initialize] vectors, or leave it out."
    )
    P245 = (
        "'character_initialization' is set, but the tok2vec has no part for characters. Set "
        "'characters', e.g. to spacy_psa.CharacterBiLSTM.v1, or leave it out."
    )
    P246 = (
        "The weights to load know no words of the training data: those of "
        "'spacy_psa.WordCharEmbed.v1' were made from a few documents, as by `spacy pretrain`, "
        "which shows it a single one, so that it cannot be pretrained. Leave [initialize] "
        "init_tok2vec empty, or pretrain a tok2vec without it, e.g. spacy.HashEmbedCNN.v2."
    )
    P230 = (
        "Labels cannot be smoothed (by {smoothing}) where the scores rule some of them out: every "
        "label gets a part of the probability. Smooth labels, or constrain them in training, not "
        "both."
    )
    P231 = (
        "The component '{name}' has both 'label_smoothing' ({smoothing}) and 'constrain_training'. "
        "Smoothed labels are independent of each other, so that sequences which the tag scheme "
        "rules out get a part of the probability. Set one of the two to 0.0 or false."
    )

    # Evaluation (P260-P279)
    P260 = (
        "Buckets of sentence length cannot begin at {lengths}. Give whole numbers that rise, the "
        "first one above 1, e.g. --lengths 5,10,20,40."
    )
    P261 = (
        "None of the {n} documents in {path} is annotated with {layer}. Choose other data, or "
        "another --component or --target. Keys in doc.spans: {keys}."
    )
    P262 = (
        "The pipeline '{path}' has no component of ours ({factories}); it has: {found}. To score "
        "what other components write, name it with --target: {options}."
    )
    P263 = (
        "The pipeline '{path}' has no component '{name}' of ours. Choose --component from: {found}."
    )
    P264 = (
        "'{path}' is a file of predictions, which does not say what was predicted. Name it with "
        "--target: {options}."
    )
    P265 = "Cannot tell what to write to '{path}'. Give it one of the endings {options}."
    P266 = (
        "'{path}' is neither a .spacy file, nor a folder with a pipeline or with .spacy files, nor "
        "an installed pipeline. Check the path."
    )
    P267 = "Give either --target or --component: a component has one target."
    P268 = (
        "The components of '{first}' and '{second}' do not predict the same: {first_layers} and "
        "{second_layers}. Name what to compare with --target: {options}."
    )
    P270 = "'{score}' is no score of {layer}. Choose --score from: {options}."

    # Training runs and their curves (P280-P299)
    P280 = "There is nothing to draw in the plot '{title}': it needs at least one finite number."
    P281 = (
        "The band of '{name}' has {n} pairs of numbers, but its line has {expected} points. Give a "
        "low and a high end for each point."
    )
    P282 = (
        "The optimizer has updated a parameter '{name}' that is in no model of the pipeline's "
        "trained components, so that training cannot be resumed exactly. Use `python -m spacy "
        "train` for this pipeline."
    )
    P283 = (
        "{path} has an unfinished run, which has come to step {step}. Add --resume to go on with "
        "it, choose another --output, or delete {checkpoint} to begin anew."
    )
    P284 = (
        "The config differs from that of the run in {path}: {name} is {found}, but was {expected}. "
        "A run can only be resumed as it began: set it back, or choose another --output."
    )
    P285 = (
        "The checkpoint in {path} is damaged or was written by another version ({problem}). "
        "Restore it from a copy, or delete the folder to begin the run anew."
    )
    P286 = (
        "The training corpus is not the one that the run in {path} began with: {n_found} words in "
        "the first {n_steps} steps, not {n_expected}. Restore the corpus, or choose another "
        "--output to begin a new run."
    )
    P287 = (
        "The checkpoint has the weights of another pipeline: {problem}. Check that the training "
        "corpus and the files of [initialize] are those with which the run began."
    )
    P288 = "A checkpoint cannot be written every {n} steps. Set --checkpoint-every to 1 or more."
    P289 = (
        "The layer '{name}' holds a network of another library ({kind}), whose state cannot be "
        "saved in a checkpoint. Use `python -m spacy train` for this pipeline."
    )
    P290 = (
        "There is no progress bar '{name}'.{suggestion} Choose one of: {options}, or null for none."
    )
    P291 = (
        "Line {line} of {path} is not of a training log, so it is not written over. Set 'path' in "
        "[training.logger] to another file, or delete this one."
    )
    P292 = (
        "There is no training log at {path}. Give an output folder with train.jsonl, which the "
        "logger spacy_psa.JsonlLogger.v1 writes, or a file with what `spacy train` printed."
    )
    P293 = "{path} has no evaluation in it: neither lines of JSON, nor the table of `spacy train`."
    P294 = "Curves cannot be drawn by '{name}'. Choose 'epoch' or 'step'."
    P295 = (
        "'{path}' cannot be drawn without vl-convert-python, which is not installed. Install it "
        "(pip install 'spacy-psa[plots]'), or write .svg or .html, which need nothing."
    )
    P296 = "The run '{run}' has no score '{name}'. Choose one of: {options}."
    P298 = "The run '{run}' has no evaluation after {start}. Lower --from."

    # Components (P3xx)
    P299 = (
        "There was nothing to train on: the batcher in [training.batcher] has made no batch of the "
        "training corpus. Check its size, and whether it discards sentences that are too long."
    )
    P251 = "'{path}' is not a config that spaCy can read: {problem}"
    P252 = (
        "'{path}' has no component '{name}' with a model. Its components with a model: {found}. "
        "Choose one with --component."
    )
    P301 = (
        "The label '{label}' of the target '{target}' is not one of the component's labels, but "
        "stands in the training example beginning '{text}'. Initialize with a label file or with "
        "examples that have all labels (python -m spacy init labels)."
    )
    P302 = (
        "'{label}' is not a universal part of speech, which is what the target 'pos' writes. Use "
        "the target 'tag' for other tag sets, or one of: {options}."
    )
    P303 = "Unknown target '{name}'.{suggestion} Choose one of: {options}."
    P304 = (
        "The component '{name}' cannot take the new label '{label}': its model has {n_tags} "
        "outputs. Add labels before nlp.initialize(), initialize a new component, or, if "
        "[components.{name}.model] sets nO, leave it out."
    )
    P305 = (
        "The training examples have no labels for '{name}' (target '{target}'{key}). Check that "
        "the corpus is annotated, that 'target' and 'spans_key' are those of the corpus, or give "
        "labels in [initialize.components.{name}]."
    )
    P306 = (
        "There are no training examples for '{name}'. Check the path of the training corpus, and "
        "that it is not empty."
    )
    P307 = (
        "Training '{name}' has diverged: {problem} in update {update} of this process, on a batch "
        "of {batch}. Its weights are those of before. Lower the learning rate or clip gradients "
        "(max_grad_norm), and check what is special about these documents."
    )
    P308 = (
        "The component '{name}' is configured for {configured}, but the saved model is for "
        "{found}. Load it with the config.cfg that was saved next to it."
    )
    P309 = (
        "The saved component '{name}' has {n_tags} tags for its labels, but its model has {nO} "
        "outputs. The files do not belong together: copy the pipeline again from where it was "
        "saved."
    )
    P310 = (
        "Prediction {found} for the document beginning '{text}' is not one of the {n_tags} tags of "
        "'{name}'. Give set_annotations what predict returned, from the same component."
    )
    P311 = "The component '{name}' could not be loaded from {path}: {problem}"
    P312 = (
        "{n_docs} documents, but {n_predictions} predictions for '{name}'. Give set_annotations "
        "what predict returned for the same documents."
    )
    P314 = (
        "The saved '{name}' is damaged: its SHA-256 checksum is {found}… and not {expected}…. Copy "
        "it again from where it was intact, or train it anew."
    )
    P313 = "A label must be a string, but this one is of type {type}: {label!r}."

    P315 = (
        "The model of '{name}' has nO = {found} outputs in the config, but its labels need "
        "{n_tags}. Leave nO out of [components.{name}.model]: it follows from the labels."
    )
    P316 = (
        "What '{name}' reads and writes ({options}) has been changed in its cfg, which has no "
        "effect on a component that is there already. Change it back, or make a new component with "
        "it."
    )
    # Semantic roles (P320-P349)
    P320 = (
        "The predicate {predicate} is not one of the {n_tokens} tokens of the document beginning "
        "'{text}'. Predicates are indices of tokens, from 0."
    )
    P321 = (
        "The token {predicate} of the document beginning '{text}' is given as a predicate twice. "
        "Each predicate has one frame: give each index once."
    )
    P322 = (
        "'{rule}' finds predicates by {layer}, which the document beginning '{text}' does not "
        "have. Put a component that writes it before '{name}' in the pipeline, or choose other "
        "'predicates'."
    )
    P323 = (
        "The training examples for '{name}' have no frames. Check that the corpus is annotated "
        "with semantic roles: doc.spans has the key 'frames' (python -m spacy psa convert)."
    )
    P324 = (
        "The role '{role}' is not one of the labels of '{name}', but stands in the training "
        "example beginning '{text}'. Initialize with a label file or with examples that have all "
        "roles (python -m spacy init labels)."
    )
    P325 = (
        "The predictions for the document beginning '{text}' are not for its tokens: {problem}. "
        "Give set_annotations what predict of '{name}' returned for the same documents."
    )
    P326 = (
        "{where} has two frames of the predicate at token {token}. The evaluator compares "
        "one frame for each predicate: leave one of them out."
    )
    P327 = (
        "{where}: the arguments {first} and {second} of the predicate at token {token} "
        "overlap. Frames are compared whose arguments do not: correct the frame."
    )
    P328 = (
        "{gold_path} has {gold} sentences, but {predicted_path} has {predicted}. Make the "
        "predictions on that very gold file, sentence by sentence."
    )
    P329 = (
        "Sentence {index} is not the same in both files: it has {gold} tokens in {gold_path} and "
        "{predicted} in {predicted_path}, or other words. Make the predictions on that very gold "
        "file."
    )
    P330 = (
        "Document or sentence {index} in {path} has no frames, not even an empty list of them. "
        "Choose a file that is annotated with semantic roles."
    )
    P331 = (
        "The pipeline in {path} has no component 'psa_srl'. Its components are: {found}. Choose a "
        "pipeline that labels semantic roles."
    )
    P332 = (
        "The pipeline in {path} cannot be part of an ensemble with {first}: {problem}. Give "
        "pipelines that were trained on the same corpus, with the same vectors."
    )
    P333 = (
        "An ensemble cannot be trained. Train each of its models in a pipeline of its own, and put "
        "them together with 'python -m spacy psa srl-ensemble'."
    )
    P334 = "An ensemble has two models or more, but {n} were given."

    # Probabilities and rules (P340-P379)
    P340 = (
        "A rule for the document '{text}' is about the label '{label}', which the component has "
        "not. It has: {options}. Leave the rule out, or train the component with that label."
    )
    P341 = (
        "A rule for the document '{text}' is about the tokens {start} to {end}, but it has {n}. "
        "Let rules have 0 <= start < end <= {n}."
    )
    P343 = (
        "The component '{name}' has a threshold for the label '{label}', which it has "
        "not.{suggestion} Choose from: {options}."
    )
    P344 = (
        "There is nothing to fit a temperature to: of {n} label sequences, {unknown} have no known "
        "label, and {impossible} are impossible under the constraints. Give data with annotation "
        "that the tag scheme and the rules allow."
    )
    P345 = (
        "The confidences of predictions cannot be used: {problem}. Expected numbers from 0 to 1 "
        "(P,), and booleans (P,) that say which of the predictions are right."
    )
    P346 = (
        "The pipeline '{path}' has no psa_tagger{named}; its components are: {found}. "
        "Give another pipeline, or the name of a psa_tagger in it with --component."
    )
    P347 = (
        "The pipeline '{path}' has several components psa_tagger: {found}. Choose one with "
        "--component."
    )
    P348 = (
        "None of the {n} documents in {path} is annotated with {layer}, which the component "
        "'{name}' predicts. Choose other data, or another --component. Keys in doc.spans: {keys}."
    )
    P349 = (
        "The calibrated pipeline cannot be written to '{path}': {problem}. Choose a folder for "
        "--output that is empty or not there yet, or leave it out to calibrate in place."
    )
    P350 = (
        "The component '{name}' labels tokens (target '{target}'), not spans, so that it has no "
        "probabilities of spans. Ask 'marginals' for those of labels."
    )
    P351 = (
        "A span ({start}, {end}, '{label}') was asked for in the document '{text}', which has {n} "
        "tokens. Give 0 <= start < end <= {n}, and one of the component's labels: {options}."
    )
    P352 = (
        "{path}, line {line}: {problem}. Give one JSON object a line, with the text under the key "
        '"text", or a .txt file with one text a line.'
    )
    P353 = "There is no text with a word in it in {path}. Check the file: one text a line."
    P354 = (
        "Cannot tell how to read '{path}'. Give a file whose name ends in {endings}, or - for "
        "standard input, one text a line."
    )
    P355 = "There is no format '{name}'. Choose --format from: {options}."
    P360 = (
        "The function that gives rules gave {found} for the document '{text}'. It has to give a "
        "list of spacy_psa.annotation.rules.Rule, which is empty if there are none."
    )
    P361 = (
        "A rule for the document '{text}' has the score {score}. A score is a number from -{most} "
        "to {most}, or inf to require the label, or -inf to forbid it."
    )
    P362 = (
        "Rules leave no label for the token '{token}' ({i}) of the document '{text}': {rules}. "
        "Give them finite scores, or leave some of them out. If they come from overlapping spans, "
        "let a span_ruler have a 'spans_filter'."
    )
    P363 = (
        "A rule requires the span '{span}' ({label}, tokens {start} to {end}) in the document "
        "'{text}', but a sentence ends inside of it. Spans lie within sentences: correct the "
        "sentence boundaries, or leave the rule out."
    )
    P364 = (
        "'spacy_psa.SpanRules.v1' reads doc.spans['{key}'], which the document '{text}' does not "
        "have. Put a component that writes it, such as a span_ruler, before this one in the "
        "pipeline, or choose another 'spans_key'."
    )
    P367 = (
        "The component '{name}' has both 'label_smoothing' ({smoothing}) and 'set_separator' "
        "('{separator}'). A set of labels says already that none of them is certain. Set one of "
        "the two to 0.0 or null."
    )
    P368 = (
        "Labels cannot be told from the separator '{separator}' of a set. Let 'set_separator' be "
        "one or more characters that are no letters, digits or whitespace, e.g. '|'."
    )
    P369 = (
        "The target '{target}' cannot have sets of labels, since spaCy takes only single ones "
        "there. Set 'set_separator' to null, or choose one of the targets: {options}."
    )
    P370 = (
        "The label '{label}' in the document beginning '{text}' is no set of labels separated by "
        "'{separator}': {problem}. Correct the annotation, or choose another 'set_separator'."
    )
    P371 = (
        "The component '{name}' cannot learn the label '{label}': since 'set_separator' is "
        "'{separator}', it means one of {parts}. Give these labels, or choose another separator."
    )
    P372 = (
        "The component '{name}' has a weight for the label '{label}' in 'label_weights', but no "
        "such label.{suggestion} Choose from: {options}."
    )
    P376 = (
        "A temperature cannot be fitted to {unit}: the component '{name}' finds none in the data. "
        "Fit it to sequences, or give data in which it finds some."
    )

    # Looking inside (P380-P389)
    P380 = "The text has no tokens: there is nothing to look at. Give a text with a word in it."
    P381 = (
        "'{path}' has no component '{name}' of ours to look into. Choose --component from: {found}."
    )
    P382 = (
        "The model of '{name}' has no network of ours, whose layers could be looked into. Choose a "
        "component whose model is 'spacy_psa.SequenceLabeler.v1' or 'spacy_psa.RoleLabeler.v1'."
    )
    P383 = (
        "The component '{name}' has found no predicates in the text, and labels nothing without "
        "them. Give another text, or set its 'predicates' to what finds them, e.g. "
        "spacy_psa.VerbPredicates.v1."
    )
    P384 = (
        "The decoder {decoder} of '{name}' does not tell the vectors of its labels. Give it a "
        "method label_vectors(), which returns a tensor (labels, width)."
    )
    P385 = (
        "'{first}' and '{other}' have {n} labels in common, and a map needs {needed} or more. Give "
        "pipelines that were trained on the same labels, or choose --component."
    )
    P386 = (
        "t-SNE needs scikit-learn, which is not installed. Install it (pip install "
        "'spacy-psa[plots]'), or use --method pca."
    )
    P387 = "There is no {what} '{name}' for label maps. Choose one of: {options}."
    P388 = "Maps cannot be fitted on the last pipeline: {problem}. Use --align procrustes."
    P389 = "Give one pipeline or more, and then the .svg, .png or .html file to write."

    # Reproduction (P390-P399)
    P390 = (
        "The folder {path} lacks {missing}: psa reproduce trains on train.spacy, and scores "
        "dev.spacy and test.spacy. Convert the corpus first (psa convert, or its workflow), or "
        "give another --data."
    )
    P391 = (
        "There is no system '{name}'. Did you mean '{nearest}'? Choose from: {options}; or give "
        "NAME=CONFIG.cfg for a config of your own."
    )
    P392 = "--seeds has '{seeds}'. Give whole numbers from 0 on, such as --seeds \"0 1 2\"."
    P393 = (
        "--systems has '{system}'. For a config of your own give NAME=CONFIG.cfg, with a name that "
        "no other system has, of letters, digits, '.', '_' and '-', and a file that is there."
    )
    P394 = (
        "The config of {system} lacks '{setting}', which is to be {value}.{suggestion} Check its "
        "name if it is an option. In a config of your own refer to it by ${{{setting}}}, where it "
        "belongs."
    )
    P395 = "The config of {system} is not valid: {problem}"
    P396 = (
        "{path} is no file of results as psa reproduce writes them: {problem}. Give another file, "
        "or another name for the results."
    )
    P397 = "There is no {option} '{name}'{where}. Choose one of: {options}."
    P398 = (
        "The config of {system} has no psa_tagger with the target '{target}', which is what "
        "{option} wants. Change the target in the config, or give another --task or --target."
    )
    P399 = "--options has '{options}', which cannot be read: {problem}."

    # Robustness: long input and processes (P405-P409)
    P405 = (
        "The models of 'spacy_psa.RoleEnsemble.v1' cut long sentences in different ways, so that "
        "their labels cannot be averaged: (max_length, overlap) are {found}. Set the same ones in "
        "all sections of the ensemble."
    )

    # Robustness: interrupted writing (P410-P419)
    P410 = (
        "{path} cannot be written, since the disk is full: {reason}. What was there before is as "
        "it was. Make room or give another place, and run this again."
    )
    P411 = (
        "{path} cannot be written: {reason}. What was there before is as it was. Give a place "
        "where you may write, or change what is allowed there."
    )
    P412 = (
        "{path} cannot be written: {reason}. What was there before is as it was. Give another "
        "place, or another name."
    )

    # Robustness: hostile models and data (P420-P429)
    P420 = (
        "The weights '{name}' have {n} of {total} numbers that are not finite (NaN or infinity): "
        "nothing could be predicted by them. Load an earlier model; in training, lower the "
        "learning rate or max_grad_norm."
    )
    P421 = (
        "{path} has more than {limit:,} bytes when it is unpacked, {ratio} times its size or more, "
        "and text has not. If it is right nevertheless, unpack it by other means (such as {how}) "
        "and give the unpacked file: that has no limit."
    )
    P422 = (
        "{url} has more than {limit:,} bytes. Get it by other means, and name its folder with "
        "--local."
    )
    P423 = (
        "The settings in the file 'cfg' have one that is not known, '{name}'. They are damaged, or "
        "of a newer version of spacy-psa: copy the pipeline again, or update spacy-psa."
    )
    P424 = (
        "{path} has no vectors: its first line announces {rows:,} of {width:,} numbers, for which "
        "{size:,} bytes of text are too few. Correct the line, or get the file again."
    )

    # Robustness: bad training data (P430-P439)
    P430 = (
        "Training '{name}' has diverged: its weights are not finite after update {update} of this "
        "process, on a batch of {batch}. Lower the learning rate, and go on from the model that "
        "was saved last: this one is not saved any more."
    )
    P431 = "'{name}' is not saved, so that the model that was saved before is kept: {problem}"
    P432 = (
        "The pipeline's vectors have numbers that are not finite (NaN, or infinite), those of: "
        "{words}. Correct the file that the vectors were made from, or leave these words out."
    )
    P433 = (
        "The span of the tokens {start} to {end} in {where} {problem}, in the training example "
        "beginning '{text}'. Correct the annotation, or leave the span out."
    )
    P434 = "'{label}' cannot be a label of '{name}': {problem}. Rename it in the data."
    P435 = (
        "The scores of '{name}' are not numbers (NaN) for the {batch}. Its weights or the "
        "pipeline's vectors are damaged: load the pipeline again from where it was intact."
    )
    P436 = (
        "None of the {n} training examples for '{name}' has a token. Check the training corpus: "
        "all of its documents are empty."
    )
    P437 = "The config is not valid: {problem}"
    # Reduced precision (P440-P449)
    P440 = (
        "{what} has weights of reduced precision ({precision}), which cannot be trained. Train the "
        "pipeline that it was made from, and run `python -m spacy psa quantize` on the result."
    )
    P441 = (
        "The precision of the network has been reduced before, to {precision}. Start from the "
        "pipeline that it was made from."
    )
    P442 = (
        "The pipeline '{path}' has nothing to reduce: none of its components ({found}) has trained "
        "layers of this package."
    )
    P443 = "The pipeline cannot be written to '{path}': {problem}. Choose another folder{force}."
    # Images (P450)
    P450 = (
        "'{format}' cannot be the format of '{path}'. --format is svg or png, of the images in a "
        "folder; a file has its format by its ending."
    )
    # Commands (P451-P459)
    P451 = "The output {path} is a file that is read. Give it another name, to keep that one."
    P452 = (
        "'{name}' in [training] is {value}, but counts {what}. Set it to 1 or more, "
        "e.g. by --training.{name} 1."
    )
    P453 = (
        "GPU {gpu_id} cannot be used ({reason}): install CuPy and a PyTorch for your version of "
        "CUDA, give the number of a GPU that is there, or leave out --gpu-id to use the CPU."
    )
    # Robustness: documents (P460-P469)
    P460 = (
        "doc.spans['{key}'] has no predicate, in the document beginning '{text}'. "
        "Doc.from_docs keeps spans, but not what belongs to them: join documents before they are "
        "labeled, or with exclude = ['spans'], and give the frames to set_frames."
    )

    # What a training reads (P470-P479)
    P470 = (
        "There are no vectors '{name}': it is neither a folder nor an installed package. Check "
        "[initialize] vectors (--paths.vectors), or make the folder, e.g. by `python -m spacy psa "
        "vectors`."
    )
    P471 = (
        "There is no corpus in the folder '{path}'. Give a .spacy file, or a folder that has some, "
        "as psa convert writes them."
    )
    P472 = "There is no path of a corpus in [{section}]. Give it by {option} FILE."


class Warnings(metaclass=_Coded):
    """Nothing is lost, but the user should know."""

    W010 = (
        "Triton is there, but cannot run on {device}, so PyTorch does everything, more slowly: "
        "{reason}. Mend this, or set the environment variable {switch}=0 to be told no more."
    )
    W110 = "{n} problems were met in the corpus, the first one: {example}"
    W201 = (
        "The word embeddings were initialized from a sample of {n_docs} documents, and know no "
        "other words. Only 'psa_tagger' and 'psa_srl' show 'spacy_psa.WordCharEmbed.v1' all of the "
        "training data. Use it inside of them, and e.g. spacy.HashEmbedCNN.v2 in other components "
        "and for `spacy pretrain`."
    )
    W240 = (
        "None of the {n} characters of the training data has a vector as a word of its own: their "
        "embeddings stay random. This pays in languages such as Chinese; else leave out "
        "'character_initialization'."
    )
    W301 = (
        "The span '{text}' ({label}, tokens {start} to {end}) in doc.spans['{key}'] overlaps with "
        "another one, which tags cannot express. It is skipped in training, in the document "
        "beginning '{doc}'."
    )
    W302 = (
        "The span '{text}' ({label}, tokens {start} to {end}) crosses a sentence boundary. It is "
        "skipped in training, in the document beginning '{doc}'."
    )
    W320 = (
        "The predicate '{token}' (token {index}) is not a token of its own in the predicted "
        "document. Its frame is skipped in training, in the document beginning '{doc}'."
    )
    W321 = (
        "The argument {role} '{text}' (tokens {start} to {end}) {problem}. It is skipped in "
        "training, in the document beginning '{doc}'."
    )
    # Robustness: long input and processes (W405-W409)
    W405 = (
        "There are sentences longer than max_length ({max_length}) in [components.{name}.model]. "
        "Arguments outside of a predicate's window are not found in them. If these are documents "
        "without sentence boundaries, put a component that sets them before '{name}' (such as "
        "'sentencizer')."
    )
    # Robustness: bad training data (W430-W439)
    W430 = (
        "The labels {labels} stand in the data to be scored, but '{name}' has not learnt them: "
        "they can only be missed. Check that both parts of the data are annotated alike, or let "
        "some documents with these labels be training data."
    )
    W431 = (
        "No token of the training examples for '{name}' has annotation that is known: there is "
        "nothing to learn. Check that the corpus is annotated, and that its tokens are those of "
        "the pipeline's tokenizer (or set gold_preproc = true in [corpora.train])."
    )
    W432 = "spaCy ignores the setting {setting}, which it does not know.{suggestion}"


def suggestion(name: str, options: Iterable[str], cutoff: float = 0.6) -> str:
    """Say which option may have been meant.

    name (str): What was given.
    options (Iterable[str]): What could have been.
    cutoff (float): How near it has to be, from 0 to 1.
    RETURNS (str): A question to put behind the first sentence of a message, with a blank before it;
        nothing if no option is near.
    """
    by_case = {option.lower(): option for option in options}
    nearest = get_close_matches(str(name).lower(), by_case, n=1, cutoff=cutoff)
    return f" Did you mean '{by_case[nearest[0]]}'?" if nearest else ""


def warn(message: str) -> None:
    """Issue one of our warnings, attributed to the caller's caller.

    message (str): A filled-in message of `Warnings`.
    """
    warnings.warn(message, UserWarning, stacklevel=3)
