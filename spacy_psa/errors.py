"""The catalog of errors and warnings: what is wrong, where, and the remedy.

As in spaCy, each message has a code that users can search for and tests can match. `Errors.P001`
is a template for `str.format`.
"""

import re
import warnings
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

from .printable import printable

LARGEST = 1 << 63


class Message(str):
    """A template. What it is filled with, such as a label or a path, cannot control a terminal."""

    def format(self, *args: Any, **kwargs: Any) -> str:
        return printable(super().format(*args, **kwargs))


class _Coded(type):
    """Prefix messages with their code: `Errors.P001` → `"[P001] …"`."""

    def __getattribute__(cls, name: str) -> Any:
        value = super().__getattribute__(name)
        return Message(f"[{name}] {value}") if re.fullmatch(r"[PW]\d{3}", name) else value


class Errors(metaclass=_Coded):
    # Inference (P0xx)
    P001 = (
        "The potentials are inconsistent: {problem}. Expected emissions (N, L) with sum(lengths) = "
        "N, transitions (L, L), start (L,), end (L,) and pairwise (N, L, L)."
    )
    P003 = "The labels do not match the potentials: {problem}."
    P004 = (
        "The constraints are invalid: {problem}. Expected boolean transitions (L, L), start (L,) "
        "and end (L,), where L is the number of labels of the potentials."
    )
    P006 = (
        "Two distributions can be compared only over the same chains, and with the same kinds of "
        "potentials (emissions, transitions, start, end, pairwise)."
    )
    P007 = (
        "Results of the backends 'scaled' and 'fused' can be differentiated only once. For second "
        "derivatives, choose the backend 'logspace'."
    )
    P014 = "'{name}' must be a positive integer, not {value!r}."
    P015 = (
        "The allowed labels do not match the spans: they are {problem}. Give one row of booleans "
        "per token of each span, span after span, with one column per label."
    )
    P016 = (
        "The spans do not match the chains: {problem}. A span is a pair (start, stop) of token "
        "indices over all chains, with 0 <= start <= stop, and must end in the chain in which it "
        "starts."
    )
    P017 = (
        "The costs are invalid: {problem}. Expected finite costs (L, L) of each true label (row) "
        "and predicted label (column), with zeros on the diagonal."
    )
    P018 = (
        "Costs cannot be computed from these label weights: {problem}. Expected one positive, "
        "finite number per label."
    )
    P019 = "A temperature must be a single positive, finite number, not {temperature}."

    P022 = (
        "The mass to keep of each token must be in (0, 1], and the number of pairs at least 1, not "
        "{mass} and {most}."
    )
    P023 = (
        "The teacher's marginals do not fit the student: {problem}. Compute them for the same "
        "sentences and labels."
    )

    # Annotation: tag schemes (P100-P105)
    P100 = "Unknown {what} '{name}'.{suggestion} Choose one of: {options}."
    P101 = (
        "The span ({start}, {end}, '{label}') is empty or not within the {length} tokens. Spans "
        "must satisfy 0 <= start < end <= number of tokens."
    )
    P102 = (
        "The span ({start}, {end}, '{label}') overlaps a span that ends before token {last_end}. "
        "Tags can only encode spans that do not overlap: remove one of them, e.g. with "
        "spacy.util.filter_spans."
    )
    P103 = "'{tag}' is not a tag of the scheme {scheme}: expected one of {expected}."
    P104 = "'{tag}' may not follow {before} in the scheme {scheme}."
    P105 = "A sentence may not end with '{tag}' in the scheme {scheme}: the span is not closed."

    # Evaluation (P106-P107)
    P106 = (
        "Sentence {index} has {gold} gold tags but {predicted} predicted tags. Give one tag per "
        "token, for the same tokens."
    )
    P107 = (
        "The gold standard has {gold} sentences, but the predictions have {predicted}. Give the "
        "same sentences in the same order."
    )

    # Corpora (P108-P119)
    P108 = (
        "No corpus path given. Set it in the config or on the command line, e.g. --paths.train "
        "corpus/train.txt."
    )
    P109 = "There is no file {path}. Check the path, or create the file first."
    P110 = "{path} is a directory, not a file. Give the path of one of its files: {files}."
    P111 = (
        "{path} has no sentences: it is empty, or has only blank lines and comments. Expected "
        "lines of {columns}, with a blank line after each sentence."
    )
    P112 = (
        "{path}, line {line}: found {found} columns, expected {expected} ({columns}). Columns are "
        "separated by {separator}, and a blank line ends a sentence. Correct the line, or set "
        "--format iob, which reads any columns, with --option word_column and tag_column, "
        "separator=\\t if words contain spaces, and comment=# to skip lines that start with #."
    )
    P113 = (
        "{path}, line {line}: not valid UTF-8 at byte {byte} of the line. Convert the file with: "
        "iconv -f ENCODING -t UTF-8, where ENCODING is the one that it was saved in, e.g. "
        "WINDOWS-1252 for German or French, WINDOWS-1256 for Arabic, GB18030 for Chinese (another "
        "one makes other words of it)."
    )
    P114 = (
        "{path}, line {line}: this is a binary file or UTF-16 text. Expected UTF-8 text, plain or "
        "gzipped. Unpack it, or convert it: iconv -f UTF-16 -t UTF-8."
    )
    P115 = (
        "{path} is damaged{where}: the gzip data is truncated or corrupt ({reason}). Get an intact "
        "copy."
    )
    P116 = (
        "{path}, line {line}: '{tag}' in column {column} is not a tag.{header} Expected O or a "
        "tag such as B-NP. Check that the file has the columns {columns}. If not, set --format iob "
        "with --option tag_column=…, label=NAME for bare B and I, prefixes=false for labels "
        "without B- and I-, or header=true to skip a header; or leave out such tags with --lenient."
    )
    P117 = (
        "{path}, line {line}: cannot tell which of the {found} columns has the tags. Known formats "
        "are: {formats}. For other columns, set --format iob (spans) or tagged (a tag per word), "
        "with --option word_column=… and tag_column=…, counted from 0."
    )
    P118 = "n_sents is {n_sents}, but must be {expected}: it is the number of sentences per Doc."
    P119 = (
        "{path}: the columns seem to be texts and their spans by characters, which are not read "
        "from columns. Write a line of JSON for each text, such as "
        '{{"text": "Ann ran", "spans": [{{"start": 0, "end": 3, "label": "PER"}}]}}.'
    )

    # Corpora: all formats (P141-P149)
    P141 = (
        "{path}, line {line}: more than {limit:,} {what}. Divide it into sentences or texts, or "
        "check that the file has the given format."
    )
    P142 = "The format {form} does not accept {problem}.{suggestion} Its options are: {options}."
    P143 = "The format {form} has no layer for the target '{target}'. Choose one of: {options}."
    P144 = (
        "{path}, line {line}: {example} in column {column} does not fit the scheme of the other "
        "tags, {scheme} (the first of {n:,}). Correct the file, or omit --strict, to read such "
        "tags as conlleval does."
    )
    P145 = "{path}, line {line}: {problem}. Expected {expected}."
    P146 = (
        "{path}, line {line}: the {layer} {first} and {second} (start, end, label) overlap in the "
        "sentence that begins here. Correct the file, or keep only the longer span with --lenient."
    )
    P147 = (
        "{path}: the document that begins at line {line} has more than {limit:,} tokens. Set the "
        "number of sentences per Doc with n_sents (--n-sents)."
    )
    P148 = (
        "{n} files cannot all be written to {output}. Add --merge to convert them into one file, "
        "or give a folder as output, for one .spacy file each."
    )
    P149 = "There are no {kind} in the folder {path}. Check the path, or set --format."

    # Corpora: treebanks (P150-P159)
    P150 = (
        "{path}, line {line}: {problem}. Expected bracketed trees, such as ( (S (NP (DT the) (NN "
        "dog) ) (VP (VBZ barks) ) (. .) )). Correct the file, or get an intact copy."
    )
    P151 = (
        "{path}, line {line}: '{token}' is not a word with a tag. Expected word/TAG, with slashes "
        "in the word escaped as \\/. Correct the file, or choose another format or kind."
    )
    P152 = (
        "{path}, line {line}: {problem}. Expected a line such as 'ID=wsj_0001.1 PARSER=GOLD "
        "NUMPARSE=1', followed by the derivation, (<T S[dcl] 1 2> (<L N NN NN dog N>) …), on one "
        "line. Correct the file, or get an intact copy."
    )
    P153 = (
        "There are no {suffixes} files in {path}{reason}. Unpack {name} and give the folder, which "
        "has files such as {layout}."
    )
    P154 = (
        "The sections {missing} are not in {path}, which has {suffix} files of sections {found}. "
        "Give the folder with all sections, or choose other sections."
    )
    P156 = (
        "'{name}' selects files from a folder, but {path} is a single file. Give the folder of the "
        "corpus, or leave out '{name}'."
    )
    P157 = (
        "The document {document} occurs twice, as {first} and {second}. Give a folder that has "
        "only one of them."
    )
    P158 = "{path} has no sentences. Expected {expected}. Check that the copy is complete."
    P159 = (
        "{n_missing} of the {n_listed} documents listed in {file_list} are not in {path}, e.g. "
        "{examples}. Give the folder that has them all, or the list of another split."
    )

    # Corpora: frames and export (P160-P169)
    P160 = (
        "{path} has no {missing} file next to it. Expected {expected}, optionally with .gz. If "
        "words and propositions are in one file, do not name it .words or .props."
    )
    P161 = (
        "{path}, line {line}: the words are missing, with [WORD] in their place. This is a "
        "skeleton file of the public release: fill in the words from OntoNotes 5.0 (LDC2013T19) "
        "with the shared task's script skeleton2conll.sh."
    )
    P162 = (
        "{path} is {what}, so the folder cannot be read. Remove it, or give the path of a folder "
        "without it."
    )
    P163 = (
        "{path}, line {line}: cannot determine which column has the target verbs. Expected words, "
        "targets and one column per target, or the eight columns of the shared task. Set "
        "target_column to the index of the column, counted from 0."
    )
    P165 = (
        "Sentence {index} ('{text}') cannot be written as {form}: {problem}. Choose another "
        "format, or correct the Doc."
    )
    P166 = (
        "{path} is a pipe, but training reads its corpora more than once. Convert it to a file "
        "with `spacy psa convert` first."
    )

    # Command line (P120-P131)
    P120 = "The output {path} must be a file ending in .spacy, or spaCy will not find it."
    P121 = (
        "{path} is not a DocBin in spaCy's binary format, or is cut short. Expected a .spacy "
        "file, as written by 'spacy convert', 'spacy apply' or 'spacy psa convert'."
    )
    P122 = (
        "Cannot hold out {n} of the {total} Docs in {path}. Choose a number from 1 to {largest}, "
        "so that neither part is empty."
    )
    P123 = "Two outputs are the same file, {path}. Give them different names."
    P124 = (
        "{gold_path} has {gold} Docs, but {predicted_path} has {predicted}. Make the predictions "
        "for the same gold file, e.g. with 'spacy apply'."
    )
    P125 = (
        "The words of Doc {index} differ between {gold_path} and {predicted_path}. Make the "
        "predictions for the same gold file, e.g. with 'spacy apply'."
    )
    P126 = (
        "Doc {index} in {path} is not annotated with {layer}. {remedy}Choose a --target that is "
        "annotated; for spans, set --spans-key to one of: {keys}."
    )
    P128 = (
        "{path} has no known scores. Expected a JSON file written by 'spacy evaluate --output', "
        "'spacy benchmark accuracy --output', or 'spacy psa evaluate', 'conlleval' or 'srl-eval'. "
        "Results of 'spacy psa reproduce' are for 'spacy psa results'."
    )
    P129 = (
        "Could not download {url} ({reason}). Check the address and the network, or get the file "
        "by other means and give its folder with --local."
    )
    P130 = (
        "The text from {source} has the wrong checksum: its SHA-256 is {found}, expected "
        "{expected}. Nothing was written. Get the file again, or correct the checksum."
    )
    P131 = "There is no file {names} in the folder {folder}. Check --local."
    P132 = (
        "{first} and {second} would both be written to {output}. Convert them separately to "
        "different names, or add --merge."
    )
    P133 = (
        "No sentence in {path} is annotated with the target '{target}'. Leave out --target, or "
        "choose one of: {options}."
    )
    P134 = "Doc {index} in {path} has {layer} that tags cannot encode: {problem}."
    P140 = "No text given. Give texts on the command line, or a file of texts with --file."

    # Published figures and licensed corpora (P170-P179)
    P171 = (
        "There are no published figures for the split '{split}' of {corpus}. Choose one of: "
        "{options}."
    )
    P172 = (
        "{paths} does not match {corpus} ({split}) as published: {differences}. Check that the "
        "corpus is complete, of the right release, and split and converted as described in "
        "docs/corpora.md."
    )
    P173 = "There is no {path}. {how}"
    P174 = (
        "{path} does not have the sizes of '{split}'. Expected the stats.xml of a Universal "
        "Dependencies treebank, with the sizes of 'total' and, in newer releases, of each split."
    )
    P175 = (
        "Nothing to compare. Give the .spacy files of a split and its --corpus (or --stats FILE), "
        "or --table for the published figures."
    )
    P176 = (
        "Cannot read vectors from {path} ({reason}). Expected text with a word and its numbers on "
        "each line, plain or compressed. If an archive has several files, choose one with --member."
    )
    P178 = (
        "{path} has {total} Docs, but at least 2 are needed to hold some out. Convert with fewer "
        "sentences per Doc (--n-sents)."
    )
    P179 = (
        "{path}: cannot determine the format, since the lines have {widths} columns. If the file "
        "is a corpus, set --format to one of: {options}. For columns with another separator or "
        "with comments, set --format iob with --option separator=… or comment=…; for a column of "
        "roles for each predicate, --format conll2005."
    )

    # Corpora: what columns have (P180-P189)
    P180 = (
        "{path}, line {line}: the word column (column {column}, counted from 0) has {what} such as "
        "'{value}'. Set --format iob with --option word_column=… and tag_column=… to choose other "
        "columns. If these are the words, add --lenient."
    )
    P181 = (
        "{path}: the columns seem to be separated by '{separator}'. Set --format iob (or tagged) "
        "with --option separator='{separator}', and word_column=… and tag_column=…, counted from 0."
    )
    P182 = (
        "{path}, line {line}: '{comment}…' seems to be a comment, as opposed to the token #, but "
        "comments begin in several ways. Set --format iob with --option comment=…, the "
        "beginning of all comments and of no token."
    )
    P183 = (
        "{path}, line {line}: the words are not before their annotation. The columns seem to be: "
        "{columns}. If they are, set {command}."
    )
    P184 = (
        "{path} has other columns than {first}. Convert them separately, or set --format. {path}: "
        "{found}. {first}: {first_found}."
    )

    # Corpora: offsets in raw text (P185-P189)
    P185 = (
        "{path}, line {line}: the span '{text}' ({label}, characters {start} to {end}) does not "
        "begin and end with tokens, which are {tokens}. Correct it, move such spans (--option "
        "alignment_mode={modes}), set the tokenizer's language (--option lang=…), or leave them "
        "out with --lenient."
    )
    P186 = (
        "{path}, line {line}: the {layer} {first} and {second} overlap, which doc.ents and tags "
        "cannot hold. Keep all of them in doc.spans with --target spans (in a config, layer = "
        '"chunks"), or only the longer one with --lenient.'
    )
    P187 = (
        "{path} has no annotated text ({notes}). Expected JSON lines, or a list in JSON, in the "
        "layout of Prodigy, doccano or Label Studio."
    )
    P188 = (
        "{path}, line {line}: {problem}. The offsets were read as {units}: set --option "
        "units=utf16 if the tool counts as JavaScript does, and units=codepoints if it counts "
        "characters; convert offsets that count bytes."
    )

    # Configs (P189-P199)
    P189 = (
        "Roles have a component of their own kind, psa_srl, and cannot stand in one config with "
        "{targets}. Write a config for each."
    )
    P167 = (
        "Some of the components of --target '{targets}' would have the same name: there are "
        "{names}. Give each target once, and name groups of spans otherwise than targets."
    )
    P190 = (
        "There is no --{option} {name}{where}. Did you mean '{nearest}'? Choose one of: {options}."
    )
    P191 = "The file {path} already exists. Add --force to overwrite it, or choose another name."
    P192 = (
        "{path} has no documents to count the steps per epoch from. Check the path given with "
        "--corpus, and that the corpus has been converted."
    )
    P193 = (
        "spaCy cannot create a pipeline for the language '{lang}' ({problem}). Check the code "
        "given with --lang, or install what the message asks for."
    )
    P194 = (
        "{option} cannot be set for the target {target}: its systems have their own. Leave the "
        "option out, and edit the section in the config."
    )

    P195 = (
        "--transformer needs spacy-transformers, which is not installed. Install it with "
        "`pip install spacy-transformers`."
    )
    P196 = (
        "The folder '{path}' is not a transformer: {problem}. Give the folder that "
        "`save_pretrained` wrote: config.json, the weights and the tokenizer."
    )
    P197 = (
        "There is no folder '{name}', or its transformer cannot be read, and no transformer of "
        "this name can be downloaded ({problem}). Check the name, or copy the transformer's files "
        "to this computer and give their folder."
    )
    P198 = (
        "{option} cannot be used with {other}, whose vectors replace those of words and "
        "characters. Leave one of the two out."
    )
    P199 = (
        "Roles need an encoder, unless a transformer is trained to read a marked predicate: "
        "without either, the label of a token could not depend on the predicate. Choose --encoder "
        "bilstm or psa, or leave it out; or give --transformer, without --freeze."
    )
    P200 = (
        "--freeze is for a transformer, which is trained by default. Add --transformer, or leave "
        "--freeze out."
    )

    # Models (P2xx)
    P201 = (
        "{what} has no weights yet. Call nlp.initialize() with training examples, or load a "
        "trained pipeline."
    )
    P202 = (
        "The model data is damaged or incomplete ({problem}). Copy the pipeline again from where "
        "it was saved; nothing was changed."
    )
    P203 = (
        "The model data belongs to a different configuration: {problem}. Load it with the "
        "config.cfg that was saved next to it, e.g. with spacy.load."
    )
    P204 = (
        "The model data is of {found} layers, but config.cfg describes {n}. Load it with the "
        "config.cfg that was saved next to it. If that is this one, perhaps nlp.replace_listeners "
        "was called with another section than the listener's, such as 'model.tok2vec' instead of "
        "'model.tok2vec.transformer', where LastLayers listens: call it again on the pipeline from "
        "before, and save that."
    )
    P205 = (
        "There are no training documents to collect words from. Check the path of the training "
        "corpus, and that the corpus is not empty."
    )
    P206 = (
        "The model's word embeddings are {width} wide, but the pipeline's vectors are {found}. "
        "Leave the tok2vec's 'width' empty, set it to {found}, or use vectors of width {width} in "
        "[initialize] vectors."
    )
    P207 = (
        "The model was trained with vectors of width {width}, but the pipeline's vectors are "
        "{found} wide. Load the pipeline with the vectors it was trained with (do not exclude its "
        "'vocab'), and give them to another one that gets a component of it (nlp.vocab.vectors = "
        "trained.vocab.vectors)."
    )
    P208 = (
        "The overlap of windows ({overlap}) must be at least 0 and less than max_length "
        "({max_length})."
    )
    P209 = (
        "The width of the tok2vec layer is unknown, and there are no documents to infer it from. "
        "Call nlp.initialize() with training examples."
    )
    P210 = "Invalid value for '{name}': {value}. It must be {expected}."
    P211 = (
        "All layers of a label refinement must be as wide as the label embeddings, {expected}, but "
        "layer {layer} is {width} wide. Choose a 'recurrent' encoder whose width does not depend "
        "on its input, or the connection spacy_psa.ResidualNorm.v1."
    )
    P212 = (
        "Layers with {n_latent} latent labels (n_latent) cannot share parameters with a decoder "
        "over the labels of the task. Leave n_latent empty, or set tie_embeddings and "
        "tie_transitions to false."
    )
    P213 = (
        "The {heads} heads of the label attention do not divide the width {width} of the hidden "
        "states. Change 'heads', or the width of the 'recurrent' encoder."
    )
    P214 = (
        "The optimizer cannot update a read-only array. Give it a writable copy "
        "(array.flags.writeable)."
    )
    P215 = (
        "The network is too large to be trained. Its largest setting is {name} = {value}: choose a "
        "smaller value."
    )
    P216 = "The group '{name}' of [training.optimizer] {problem}. {remedy}"
    P217 = (
        "The groups of [training.optimizer] cannot be found: the parameter '{name}' belongs to no "
        "pipeline that the optimizer knows. Train with `psa train`, set [training.logger] to "
        "spacy_psa.JsonlLogger.v1, or call spacy_psa.training.note_pipeline(nlp) first."
    )
    P218 = (
        "The group '{name}' of [training.optimizer] has no parameters.{suggestion} Correct its "
        "'components' or 'parameters'. The pipeline's components with parameters are: "
        "{components}; some parameters that could be meant are: {some}."
    )
    P219 = (
        "The groups '{first}' and '{second}' of [training.optimizer] both change {what} of the "
        "parameter '{parameter}'. Change their patterns, so that only one of them has it."
    )
    P220 = (
        "{n_heads} attention heads do not evenly divide a width of {width}. Choose a width that is "
        "a multiple of the number of heads, or set 'key_width', the width of each head."
    )
    P221 = (
        "The optimizer cannot update the parameter '{name}': its shape is {shape}, and was {found} "
        "in earlier updates, so that another component has been loaded since, or the same one with "
        "other labels or words. Train on with a new optimizer."
    )
    P222 = (
        "The vectors of tokens are {found} wide, but were {width} wide in training: the component "
        "listens to another one here. Before a component is put into another pipeline, it needs a "
        "copy of what it listens to, e.g. "
        "trained.replace_listeners('tok2vec', 'psa_tagger', ['model.tok2vec'])."
    )
    P223 = (
        "The component '{name}' listens to '{upstream}', but no embedding or transformer of this "
        "name is in front of it in the pipeline (found: {options}).{suggestion} Put it there, or "
        "correct upstream of the listener in [components.{name}.model]."
    )
    P224 = (
        "The block in '{setting}' of the model is of the wrong kind: 'tok2vec' must be a layer of "
        "thinc, such as spaCy's embeddings, 'encoder' and 'decoder' must be blocks for these "
        "settings, such as spacy_psa.BiLSTM.v1 and spacy_psa.CRF.v1, and this is {found}. Put "
        "encoders of spaCy into 'tok2vec', with spacy.Tok2Vec.v2."
    )

    # Embeddings (P240-P249)
    P240 = (
        "Nothing to concatenate. Give 'spacy_psa.ConcatTok2Vec.v1' one or more embeddings, in "
        "sections such as [components.psa_tagger.model.tok2vec.*.words]."
    )
    P241 = (
        "'spacy_psa.LastLayers.v1' has no transformer to listen to. Add a component 'transformer' "
        "before this one in the pipeline, or define a transformer in its section 'transformer'."
    )
    P242 = (
        "There are no transformer hidden states for the document beginning '{text}'. Set "
        "output_hidden_states = true in the transformer's [transformer_config], and check that the "
        "component 'transformer' is not disabled. In training, it must be updated, or frozen and "
        "listed in annotating_components."
    )
    P243 = (
        "The mean of {n_layers} layers was requested, but the transformer has {found}. Lower "
        "n_layers in 'spacy_psa.LastLayers.v1'."
    )
    P244 = (
        "'character_initialization' initializes character embeddings from the pipeline's vectors, "
        "but there are none. Set [initialize] vectors, or remove the setting."
    )
    P245 = (
        "'character_initialization' is set, but the tok2vec has no character encoder. Set "
        "'characters', e.g. to spacy_psa.CharacterBiLSTM.v1, or remove the setting."
    )
    P246 = (
        "The weights to load cover no words of the training data: 'spacy_psa.WordCharEmbed.v1' was "
        "initialized from a few documents. It cannot be pretrained, since `spacy pretrain` "
        "initializes it from a single one. Leave [initialize] init_tok2vec empty, or pretrain a "
        "tok2vec without it, e.g. spacy.HashEmbedCNN.v2."
    )
    P247 = (
        "The tokenizer of '{name}' lets {longest} subwords through, but its transformer has "
        "{positions} positions. Set model_max_length = {positions} in the [tokenizer_config] of "
        "the transformer."
    )
    P248 = (
        "The windows of '{name}' have {window} tokens, but its transformer reads at most {longest} "
        "subwords at once, so the last tokens of each window would have no vectors. Set window in "
        "the [get_spans] of the transformer to a fourth of that."
    )
    P249 = (
        "'spacy_psa.MarkedRoleLabeler.v1' reads copies of sentences, which no other component has "
        "read: it cannot listen to one. Give it a tok2vec of its own, e.g. "
        "spacy-transformers.Tok2VecTransformer.v3, or choose spacy_psa.RoleLabeler.v1."
    )
    P258 = (
        "The marker {marker!r} is not a word. Set 'marker' of 'spacy_psa.MarkedRoleLabeler.v1' to "
        "one without white space, e.g. '*'."
    )
    P230 = (
        "Labels cannot be smoothed (by {smoothing}) if the scores rule some of them out, since "
        "smoothing gives every label some probability. Use either label smoothing or constraints "
        "in training, not both."
    )
    P231 = (
        "The component '{name}' has both 'label_smoothing' ({smoothing}) and 'constrain_training'. "
        "Smoothing treats labels as independent, and so gives probability to sequences that the "
        "tag scheme rules out. Set 'label_smoothing' to 0.0, or 'constrain_training' to false."
    )

    # Evaluation (P260-P279)
    P260 = (
        "Sentence length buckets cannot begin at {lengths}. Give increasing whole numbers, the "
        "first one above 1, e.g. --lengths 5,10,20,40."
    )
    P261 = (
        "None of the {n} documents in {path} is annotated with {layer}. {remedy}Choose other "
        "data, or another --component or --target. Annotated: {found}."
    )
    P262 = (
        "The pipeline '{path}' has no spacy-psa component ({factories}); it has: {found}. "
        "`psa evaluate` and `psa compare` score the annotation of other components with --target: "
        "{options}."
    )
    P263 = (
        "The pipeline '{path}' has no spacy-psa component '{name}'. Choose --component from: "
        "{found}."
    )
    P264 = (
        "'{path}' is a file of predictions, which does not say what was predicted. Set --target to "
        "one of: {options}."
    )
    P265 = "Cannot infer what to write to '{path}'. Use one of the extensions {options}."
    P266 = (
        "'{path}' is not a .spacy file, a folder with a pipeline or .spacy files, or an installed "
        "pipeline. Check the path."
    )
    P267 = "Both --target and --component were given. Give only one: a component has one target."
    P268 = (
        "The components of '{first}' and '{second}' have different targets: {first_layers} and "
        "{second_layers}. Choose what to compare with --target: {options}."
    )
    P269 = "'{path}' is not a pipeline, but the output of a training, which has one: '{best}'."
    P271 = (
        "'{path}' is not a pipeline: it has no meta.json. Give the folder of one, such as "
        "model-best in the output of a training, or the name of an installed one."
    )
    P272 = "{option} is for {what}, but {found}. Leave it out."
    P270 = "'{score}' is not a score of {layer}. Choose --score from: {options}."

    # Training runs and their curves (P280-P299)
    P280 = "The plot '{title}' has nothing to draw: it needs at least one finite number."
    P281 = (
        "The band of '{name}' has {n} pairs of numbers, but its line has {expected} points. Give a "
        "lower and an upper bound for each point."
    )
    P282 = (
        "The optimizer has updated a parameter '{name}' that is in no model of the pipeline's "
        "trained components, so training cannot be resumed exactly. Use `python -m spacy train` "
        "for this pipeline."
    )
    P283 = (
        "{path} has an unfinished run, at step {step}. Add --resume to continue it, choose another "
        "--output, or delete {checkpoint} to start from scratch."
    )
    P284 = (
        "The config differs from that of the run in {path}: {name} is {found}, but was {expected}. "
        "A run can only be resumed with the config it began with. Restore the value, or choose "
        "another --output."
    )
    P285 = (
        "The checkpoint in {path} is damaged or was written by another version ({problem}). "
        "Restore it from a copy, or delete the folder to start the run from scratch."
    )
    P286 = (
        "The training corpus differs from the one the run in {path} began with: {n_found} words in "
        "the first {n_steps} steps, not {n_expected}. Restore the corpus, or choose another "
        "--output to start a new run."
    )
    P287 = (
        "The checkpoint has the weights of another pipeline: {problem}. Check that the training "
        "corpus and the files in [initialize] are those the run began with."
    )
    P288 = "A checkpoint cannot be written every {n} steps. Set --checkpoint-every to 1 or more."
    P289 = (
        "The layer '{name}' holds a network of another library ({kind}), whose state cannot be "
        "saved in a checkpoint. Use `python -m spacy train` for this pipeline."
    )
    P290 = (
        "The tokenizer {tokenizer} has no method 'to_disk', so the pipeline could not be saved. "
        "Add to_disk, from_disk, to_bytes and from_bytes to it, which may do nothing: see "
        "https://spacy.io/usage/linguistic-features#custom-tokenizer."
    )
    P291 = (
        "Line {line} of {path} is not from a training log, so the file is not overwritten. Set "
        "'path' in [training.logger] to another file, or delete this one."
    )
    P292 = (
        "There is no training log at {path}. Give an output folder with train.jsonl, as written by "
        "the logger spacy_psa.JsonlLogger.v1, or a file with the output of `spacy train`."
    )
    P293 = (
        "{path} has no evaluations. Expected lines of JSON, or the table printed by `spacy train`."
    )
    P294 = "Curves cannot be plotted by '{name}'. Choose 'epoch' or 'step'."
    P295 = (
        "'{path}' cannot be drawn without Altair and vl-convert-python, and '{missing}' is not "
        "installed. Install both: pip install 'spacy-psa[plots]'."
    )
    P296 = "The run '{run}' has no score '{name}'. Choose one of: {options}."
    P297 = "The pipelines of epochs {epochs} cannot be kept: {problem}."
    P298 = "The run '{run}' has no evaluation after {start}. Lower --from."

    # Components (P3xx)
    P299 = (
        "There is nothing to train on: the batcher in [training.batcher] has made no batch of the "
        "training corpus. Check its size, and whether it discards long sentences."
    )
    P251 = "'{path}' is not a valid spaCy config: {problem}"
    P301 = (
        "The label '{label}' of the target '{target}' is not one of the component's labels, but "
        "occurs in the training example beginning '{text}'. Its model cannot gain labels: "
        "initialize with a label file or with examples of all labels (python -m spacy init labels)."
    )
    P302 = (
        "'{label}' is not a universal part of speech, as the target 'pos' requires. Use the target "
        "'tag' for other tag sets, or one of: {options}."
    )
    P304 = (
        "The component '{name}' cannot add the label '{label}': its model has {n_tags} outputs "
        "and cannot gain more. Remove nO if [components.{name}.model] sets it; add labels before "
        "nlp.initialize(), if the model is not one of this package's; or train a new component."
    )
    P305 = (
        "The training examples have no labels for '{name}' (target '{target}'{key}). Annotated "
        "in them: {found}. If that is nothing, annotate them, or check how they were converted; "
        "otherwise set 'target' and 'spans_key' in [components.{name}] to that, or give labels in "
        "[initialize.components.{name}]."
    )
    P306 = (
        "There are no training examples for '{name}'. Check the path of the training corpus, and "
        "that the corpus is not empty."
    )
    P307 = (
        "Training '{name}' has diverged: {problem} in update {update} of this process, on a batch "
        "of {batch}. The weights are those from before this update. Lower the learning rate or "
        "clip gradients (max_grad_norm), and check these documents for anything unusual."
    )
    P308 = (
        "The component '{name}' is configured for the target {configured}, but the saved model is "
        "for {found}. Load it with the config.cfg that was saved next to it."
    )
    P309 = (
        "The saved component '{name}' has {n_tags} tags for its labels, but its model has {nO} "
        "outputs, so its files do not belong together. Copy the pipeline again from where it was "
        "saved."
    )
    P310 = (
        "Prediction {found} for the document beginning '{text}' does not have one of the {n_tags} "
        "tags of '{name}' for each token. Pass set_annotations the output of predict for the same "
        "documents, from the same component."
    )
    P311 = "The component '{name}' could not be loaded from {path}: {problem}"
    P312 = (
        "{n_docs} documents, but {n_predictions} predictions for '{name}'. Pass set_annotations "
        "the output of predict for the same documents."
    )
    P314 = (
        "The saved '{name}' is damaged: its SHA-256 checksum is {found}…, not {expected}…. Copy it "
        "again from an intact source, or train it again."
    )
    P313 = "Labels must be strings, but this one is of type {type}: {label!r}."

    P315 = (
        "The model of '{name}' has nO = {found} outputs in the config, but its labels need "
        "{n_tags}. Remove nO from [components.{name}.model]: it is inferred from the labels."
    )
    P316 = (
        "What '{name}' reads and writes ({options}) was changed in its cfg, which has no effect on "
        "an existing component. Change it back, or create a new component with these settings."
    )
    P317 = (
        "The network cannot gain labels: its tensor '{name}' has shape {found}, and with the new "
        "labels {expected}: its rows are neither labels nor pairs of labels. Train a new one."
    )
    P318 = (
        "'{name}' was trained with {setting} = {saved!r}, which cannot be changed to {value!r} any "
        "more. Leave it out of the config with which the pipeline is loaded, or train a new "
        "component."
    )
    P319 = (
        "The vocabulary for '{name}' is not a dict of tokens and their counts, or empty. Write it "
        "with `python -m spacy psa vocabulary`, and set [initialize.components.{name}.vocabulary] "
        "to the file vocabulary.json that it writes."
    )
    # Semantic roles (P320-P349)
    P320 = (
        "The predicate {predicate} is not the index of one of the {n_tokens} tokens of the "
        "document beginning '{text}'. Give the indices of tokens (token.i), counted from 0."
    )
    P321 = (
        "The token {predicate} of the document beginning '{text}' is given as a predicate twice. "
        "Each predicate has one frame: give each index once."
    )
    P322 = (
        "'{rule}' finds predicates by {layer}, which the document beginning '{text}' lacks. Add a "
        "component that sets this before '{name}' in the pipeline, or choose other 'predicates'."
    )
    P323 = (
        "The training examples for '{name}' have no frames. Check that the corpus is annotated "
        "with semantic roles: doc.spans must have the key 'frames' (python -m spacy psa convert)."
    )
    P324 = (
        "The role '{role}' is not one of the labels of '{name}', but occurs in the training "
        "example beginning '{text}'. Its model cannot gain labels: initialize with a label file or "
        "with examples of all roles (python -m spacy init labels)."
    )
    P325 = (
        "The predictions for the document beginning '{text}' do not match its tokens: {problem}. "
        "Pass set_annotations the output of predict of '{name}' for the same documents."
    )
    P326 = (
        "{where} has two frames for the predicate at token {token}. The evaluation compares one "
        "frame per predicate: remove one of them."
    )
    P327 = (
        "{where}: the arguments {first} and {second} of the predicate at token {token} overlap. "
        "The evaluation compares frames without overlapping arguments: correct the frame."
    )
    P328 = (
        "{gold_path} has {gold} sentences, but {predicted_path} has {predicted}. Make the "
        "predictions for the same gold file, sentence by sentence."
    )
    P329 = (
        "Sentence {index} differs between the files: it has {gold} tokens in {gold_path} and "
        "{predicted} in {predicted_path}, or different words. Make the predictions for the same "
        "gold file."
    )
    P330 = (
        "Document or sentence {index} in {path} has no frames, not even an empty list of them. "
        "Choose a file annotated with semantic roles."
    )
    P331 = (
        "The pipeline in {path} has no component 'psa_srl'. Its components are: {found}. Choose a "
        "pipeline that labels semantic roles."
    )
    P332 = (
        "The pipeline in {path} cannot be combined with {first} in an ensemble: {problem}. Give "
        "pipelines trained on the same corpus, with the same vectors."
    )
    P333 = (
        "An ensemble cannot be trained. Train each of its models in its own pipeline, and combine "
        "them with 'python -m spacy psa srl-ensemble'."
    )
    P334 = "An ensemble needs at least two models, but {n} were given."
    P335 = (
        "The labels of '{name}' must be a list of strings, and are of type {type}: {labels}. Check "
        "[initialize.components.{name}]; `python -m spacy init labels` writes a file for it, which "
        "@readers = 'spacy.read_labels.v1' in [initialize.components.{name}.labels] reads. One "
        "for a component of another kind may have another form."
    )
    P336 = (
        "'{name}' cannot rehearse while it listens to '{upstream}', which rehearsal leaves out. "
        "Before nlp.resume_training(), give it a copy of its own: "
        "nlp.replace_listeners('{upstream}', '{name}', ['model.tok2vec']); the last argument is "
        "the section of the listener, with LastLayers ['model.tok2vec.transformer']."
    )

    # Probabilities and rules (P340-P379)
    P340 = (
        "A rule for the document '{text}' uses the label '{label}', which the component does not "
        "have. It has: {options}. Remove the rule, or train the component with that label."
    )
    P341 = (
        "A rule for the document '{text}' applies to tokens {start} to {end}, but the document has "
        "{n}. Rules must satisfy 0 <= start < end <= {n}."
    )
    P343 = (
        "The component '{name}' has a threshold for the label '{label}', but no such "
        "label.{suggestion} Choose from: {options}."
    )
    P344 = (
        "A temperature cannot be fitted: of {n} label sequences, {unknown} have no known label, "
        "and {impossible} are impossible under the constraints. Give data whose annotation the tag "
        "scheme and the rules allow."
    )
    P345 = (
        "The confidences of predictions are invalid: {problem}. Expected numbers from 0 to 1 (P,), "
        "and booleans (P,) that say which predictions are correct."
    )
    P346 = (
        "'{path}' has no component{named} of the kind that this works on ({kind}). {remedy} All "
        "its components are: {components}."
    )
    P347 = "'{path}' has several components ({kind}): {found}. Choose one with --component."
    P348 = (
        "None of the {n} documents in {path} is annotated with {layer}, which the component "
        "'{name}' predicts. Choose other data, or another --component. Keys in doc.spans: {keys}."
    )
    P349 = (
        "The calibrated pipeline cannot be written to '{path}': {problem}. Choose an empty or new "
        "folder for --output{force}, or leave it out to calibrate in place."
    )
    P350 = (
        "The component '{name}' labels tokens (target '{target}'), not spans, so it has no span "
        "probabilities. Use 'marginals' for those of labels."
    )
    P351 = (
        "The span {span!r} was requested in the document '{text}', which has {n} tokens. Give "
        "(start, end, label), with 0 <= start < end <= {n} and one of the component's labels: "
        "{options}."
    )
    P352 = (
        "{path}, line {line}: {problem}. Expected one JSON object per line, with the text under "
        'the key "text". Correct the line, or delete it.'
    )
    P353 = "{path} has no text with any words. Give at least one text with a word."
    P354 = (
        "Cannot infer how to read '{path}'. Give a file ending in {endings}, or - for standard "
        "input, with one text per line."
    )
    P355 = (
        "{n_docs} documents, but lists of spans for {n_lists}. Give one list for each document, "
        "empty where no span is asked for."
    )
    P356 = (
        "'{name}' reads Doc objects, not {type}. Give nlp.make_doc(text) for a text, and "
        "span.as_doc() for a span."
    )
    P357 = (
        "The distribution given to '{name}' is not that of these documents and their sentences. "
        "Compute it again with its method 'distribution'."
    )
    P360 = (
        "The rule function returned {found} for the document '{text}'. It must return a list of "
        "spacy_psa.annotation.rules.Rule, empty if there are no rules."
    )
    P361 = (
        "A rule for the document '{text}' has the score {score}. Give a number from -{most} to "
        "{most}, inf to require the label, or -inf to forbid it."
    )
    P362 = (
        "The rules leave no label for the token '{token}' ({i}) of the document '{text}': {rules}. "
        "Give them finite scores, or remove some of them. If they come from overlapping spans, set "
        "a 'spans_filter' in the span_ruler."
    )
    P363 = (
        "A rule requires the span '{span}' ({label}, tokens {start} to {end}) in the document "
        "'{text}', but a sentence ends inside it. Spans must lie within sentences: correct the "
        "sentence boundaries, or remove the rule."
    )
    P364 = (
        "'spacy_psa.SpanRules.v1' reads doc.spans['{key}'], which the document '{text}' does not "
        "have. Add a component that sets it, such as a span_ruler, before this one in the "
        "pipeline, or choose another 'spans_key'."
    )
    P367 = (
        "The component '{name}' has both 'label_smoothing' ({smoothing}) and 'set_separator' "
        "('{separator}'). A label set already says that none of its labels is certain. Set "
        "'label_smoothing' to 0.0, or 'set_separator' to null."
    )
    P368 = (
        "The separator '{separator}' cannot be told apart from the labels in a set. Set "
        "'set_separator' to one or more characters other than letters, digits and whitespace, e.g. "
        "'|'."
    )
    P369 = (
        "The target '{target}' cannot have label sets, since spaCy allows only single labels "
        "there. Set 'set_separator' to null, or choose one of the targets: {options}."
    )
    P370 = (
        "The label '{label}' in the document beginning '{text}' is not a set of labels separated "
        "by '{separator}': {problem}. Correct the annotation, or choose another 'set_separator'."
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
        "A temperature cannot be fitted to {unit}: the component '{name}' predicts none in the "
        "data. Fit it to sequences, or give data in which it predicts some."
    )

    # Visualization (P380-P389)
    P380 = "The text has no tokens to inspect. Give a text with at least one word."
    P382 = (
        "The model of '{name}' has no spacy-psa network to inspect. Choose a component whose model "
        "is 'spacy_psa.SequenceLabeler.v1' or 'spacy_psa.RoleLabeler.v1'."
    )
    P383 = (
        "The component '{name}' found no predicates in the text, so there is nothing to label. "
        "Give another text, or set its 'predicates' to a function that finds them, e.g. "
        "spacy_psa.VerbPredicates.v1."
    )
    P384 = (
        "The decoder {decoder} of '{name}' does not expose its label vectors. Add a method "
        "label_vectors() to it that returns a tensor (labels, width)."
    )
    P385 = (
        "'{first}' and '{other}' share too few labels ({n}): a map needs at least {needed}. "
        "Give pipelines trained on the same labels, or choose --component."
    )
    P386 = (
        "t-SNE needs scikit-learn, which is not installed. Install it (pip install "
        "'spacy-psa[plots]'), or use --method pca."
    )
    P387 = (
        "The model of '{name}' reads copies of sentences with markers, 'spacy_psa."
        "MarkedRoleLabeler.v1', which cannot be drawn over the words of the text. Choose a "
        "component with spacy_psa.RoleLabeler.v1."
    )
    P388 = "The maps cannot be fitted on the last pipeline: {problem}. Use --align procrustes."

    # Reproduction (P390-P399)
    P390 = (
        "The folder {path} lacks {missing}: psa reproduce trains on train.spacy, and scores "
        "dev.spacy and test.spacy. Convert the corpus first (psa convert, or its workflow), or "
        "give another --data."
    )
    P391 = (
        "There is no system '{name}'. Did you mean '{nearest}'? Choose from: {options}; or give "
        "NAME=CONFIG.cfg for your own config."
    )
    P392 = "Invalid --seeds '{seeds}'. Give non-negative integers, e.g. --seeds \"0 1 2\"."
    P393 = (
        "Invalid system '{system}' in --systems. For your own config, give NAME=CONFIG.cfg with an "
        "existing file and a unique name of letters, digits, '.', '_' and '-'."
    )
    P394 = (
        "The config of {system} lacks '{setting}', which must be {value}.{suggestion} If it is an "
        "option, check its name. In your own config, refer to it by ${{{setting}}} where it "
        "belongs."
    )
    P395 = "The config of {system} is not valid: {problem}"
    P396 = (
        "{path} is not a results file of psa reproduce: {problem}. Give another file, or another "
        "name for the results."
    )
    P397 = "There is no {option} '{name}'{where}. Choose one of: {options}."
    P398 = (
        "The config of {system} has no spacy-psa component with the target '{target}', as "
        "{option} requires. Change the target in the config, or give another --target."
    )
    P399 = "Cannot parse --options '{options}': {problem}."

    # Robustness: long input and processes (P405-P409)
    P405 = (
        "The models of 'spacy_psa.RoleEnsemble.v1' split long sentences differently, so their "
        "labels cannot be averaged: (max_length, overlap) are {found}. Set the same values in all "
        "sections of the ensemble."
    )

    # Robustness: interrupted writing (P410-P419)
    P410 = (
        "{path} cannot be written, since the disk is full: {reason}. The previous content is "
        "unchanged. Free some space or choose another location, and try again."
    )
    P411 = (
        "{path} cannot be written: {reason}. The previous content is unchanged. Choose a location "
        "where you have write access, or change the permissions."
    )
    P412 = (
        "{path} cannot be written: {reason}. The previous content is unchanged. Choose another "
        "location or name."
    )
    P413 = (
        "{path} cannot be written: {reason}. The previous content is unchanged. Raise the limit on "
        "the size of files (ulimit -f), or choose a disk that takes larger ones, and try again."
    )

    # Robustness: hostile models and data (P420-P429)
    P420 = (
        "In the weights '{name}', {n} of {total} numbers are not finite (NaN or infinity), so they "
        "cannot be used for prediction. Load an earlier model; in training, lower the learning "
        "rate or max_grad_norm."
    )
    P421 = (
        "{path} unpacks to more than {limit:,} bytes, at least {ratio} times its size, which is "
        "implausible for text. If the file is correct, unpack it by other means (such as {how}) "
        "and give the unpacked file, which has no size limit."
    )
    P422 = (
        "{url} has more than {limit:,} bytes. Download it by other means, and give its folder with "
        "--local."
    )
    P423 = (
        "The file 'cfg' has an unknown setting, '{name}'. It is damaged, or from a newer version "
        "of spacy-psa. Copy the pipeline again, or update spacy-psa."
    )
    P424 = (
        "{path} has no vectors: its first line announces {rows:,} vectors of {width:,} numbers, "
        "for which {size:,} bytes of text are too few. Correct the line, or get an intact copy."
    )
    P425 = (
        "'{name}' is not saved: it has no setting '{setting}' in `cfg`, and could not be loaded "
        "with it. Remove it with `del nlp.get_pipe('{name}').cfg['{setting}']`; the attribute of "
        "the component, if it has one of that name, is what counts."
    )

    # Robustness: bad training data (P430-P439)
    P430 = (
        "Training '{name}' has diverged: its weights are not finite after update {update} of this "
        "process, on a batch of {batch}, and will not be saved. Lower the learning rate, and "
        "resume from the last saved model."
    )
    P431 = "'{name}' is not saved, to keep the previously saved model: {problem}"
    P432 = (
        "The pipeline's vectors have numbers that are not finite (NaN or infinity), for: {words}. "
        "Correct the file the vectors were built from, or remove these words."
    )
    P433 = (
        "The span of tokens {start} to {end} in {where} {problem}, in the training example "
        "beginning '{text}'. Correct the annotation, or remove the span."
    )
    P434 = "'{label}' cannot be a label of '{name}': {problem}. Rename it in the data."
    P435 = (
        "The scores of '{name}' are not numbers (NaN) for the {batch}. Its weights or the "
        "pipeline's vectors are damaged. Load an intact copy of the pipeline."
    )
    P436 = (
        "None of the {n} training examples for '{name}' has any tokens. Check the training corpus: "
        "all of its documents are empty."
    )
    P437 = "The config in '{path}' is not valid: {problem}"
    # Reduced precision (P440-P449)
    P440 = (
        "{what} has weights of reduced precision ({precision}), which cannot be trained. Train the "
        "original pipeline, and run `python -m spacy psa quantize` on the result."
    )
    P441 = (
        "The precision of the network has already been reduced to {precision}. Start from the "
        "original pipeline."
    )
    P442 = (
        "The pipeline '{path}' has nothing to reduce: none of its components ({found}) has trained "
        "spacy-psa layers. Choose another pipeline."
    )
    P443 = "The pipeline cannot be written to '{path}': {problem}. Choose another folder{force}."
    # Images (P450)
    P450 = (
        "'{format}' cannot be the format of '{path}'. Give svg or png as --format of the images in "
        "a folder; leave it out for a file, whose extension sets its format."
    )
    # Commands (P451-P459)
    P451 = (
        "The output {path} is also an input. Choose another name, so that the input is not "
        "overwritten."
    )
    P453 = (
        "GPU {gpu_id} cannot be used ({reason}). Install CuPy and PyTorch for your version of "
        "CUDA, give the number of an available GPU, or leave out --gpu-id to use the CPU."
    )
    # Robustness: documents (P460-P469)
    P460 = (
        "doc.spans['{key}'] has no predicate, in the document beginning '{text}'. Doc.from_docs "
        "and Doc.to_json keep spans, but not the attributes of their groups. Join documents before "
        "they are labeled, or with exclude = ['spans'], and pass the frames to set_frames; save "
        "documents with DocBin or Doc.to_bytes."
    )

    # What a training reads (P470-P479)
    P470 = (
        "There are no vectors '{name}': it is neither the folder of a pipeline nor an installed "
        "package. Check --vectors or [initialize] vectors (--paths.vectors), or create the folder, "
        "e.g. with `python -m spacy psa vectors {file} FOLDER`."
    )
    P471 = (
        "There is no {ending} file at '{path}', so nothing would be read. Give one, or a folder of "
        "them; `python -m spacy psa convert` writes .spacy files."
    )
    P472 = "No corpus path is set in [{section}]. Set it with {option} FILE."
    P473 = (
        "The vectors '{name}' were made for the language '{found}', and spaCy loads them for no "
        "other one, such as '{lang}'. Make those of '{lang}' in a folder of their own, with "
        "`python -m spacy psa vectors FILE FOLDER --lang {lang}`."
    )
    P474 = (
        "The transformer in [{section}] is trained in mixed precision, which works on a GPU only. "
        "Set mixed_precision = false there, or choose a GPU with --gpu-id."
    )
    P475 = (
        "The pipeline '{name}' has no vectors; spaCy's small ones have none. Choose another, such "
        "as en_core_web_md, or what `python -m spacy psa vectors` writes, or leave out --vectors."
    )
    # Bulk annotation (P500-P519, P529)
    P500 = (
        "{what} needs the package '{package}', which is not installed. Install it with `pip "
        "install 'spacy-psa[{extra}]'`."
    )
    P501 = (
        "There is nothing to read at '{path}'. Give an existing file, folder, pattern or URI with "
        "files that end in {kinds}; .txt and .jsonl can be compressed (.gz, .zst)."
    )
    P502 = "'{path}' cannot be read: {reason}. Check the path and your access to it."
    P503 = (
        "'{path}' is of no known kind. Its name must end in {kinds}; .txt and .jsonl can be "
        "compressed (.gz, .zst)."
    )
    P504 = (
        "The Parquet file '{path}' is damaged or cut short: {reason}. Write or copy it again, or "
        "leave it out."
    )
    P495 = (
        "'{path}', line {line}: there is no key '{column}', nor in any of the first {n} objects. "
        "The keys there: {keys}. Choose the one of the text with --column."
    )
    P496 = (
        "'{id}' cannot be saved in spaCy's format: {reason}. A component has put that into "
        "doc.user_data or an extension (doc._). Choose the format parquet or jsonl, which have "
        "neither, and another output folder; or remove it at the end of the pipeline."
    )
    P497 = (
        "The column '{column}' of '{path}' cannot be written in this format: {reason}. Choose the "
        "format parquet, and another output folder; or leave out the column."
    )
    P505 = (
        "'{path}' has no column of text '{column}'. Its columns of text: {options}. Choose one "
        "with --column."
    )
    P506 = "'{path}' has columns {problem}: {columns}. Rename them, or leave them out."
    P507 = (
        "The output folder '{path}' has other contents, such as '{found}'. Choose a new or empty "
        "folder."
    )
    P508 = (
        "The manifest '{path}' is damaged: {reason}. Choose another folder, or remove this one to "
        "start anew."
    )
    P519 = "{path} does not describe a pipeline: {problem}."
    P509 = (
        "The output folder '{path}' has the shards of another run, with another {key}: {old}, not "
        "{new}. Repeat that run, or choose another folder."
    )
    P510 = "Another run is writing to '{path}'. Wait for it, or choose another folder."
    P511 = (
        "{n} documents have failed, and --max-errors is {limit}. The last one, {last}. The "
        "finished shards remain: repeat the run with a larger --max-errors to go on."
    )
    P512 = (
        "The processes were killed {n} times without finishing a block of {names}. Perhaps there "
        "is not enough memory: use fewer processes or a smaller --batch-size, and repeat the run "
        "to go on."
    )
    P513 = (
        "There is no Ray cluster at {address}: {reason}. Start one with `ray start --head`, check "
        "the address, or leave out --address to use this machine."
    )
    P529 = (
        "Ray did not start on this machine: {reason}. Try again when it is less busy, or annotate "
        "with --engine local."
    )
    P514 = (
        "A worker cannot use the pipeline '{path}': {reason}. Put it at the same path on all "
        "machines, e.g. in a shared folder, or install it there as a package."
    )
    P515 = "'{value}' cannot be the {name}.{suggestion} Choose one of: {options}."
    P516 = (
        "The output cannot be written to '{path}': {problem}. Choose a folder of this machine or "
        "one that it mounts, apart from the input."
    )
    P517 = (
        "Cannot annotate this {kind} in memory. Give a pyarrow Table or a pandas DataFrame; or a "
        "ray.data.Dataset, with the folder or name of the pipeline; or the paths of files, with an "
        "output folder."
    )
    P518 = (
        "A {kind} is annotated in this process, but n_process is {n}. Leave n_process out; or give "
        "the paths of files, with an output folder."
    )
    # Training by several processes (P520-P529)
    P520 = (
        "The environment does not say which rank this process is: {problem}. Start it with "
        "torchrun, or set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, or none of "
        "them to train in one process."
    )
    P521 = (
        "The other ranks of this training cannot be reached: {problem}. If one of them has ended, "
        "its own message says why. Start all again; --resume goes on from the last checkpoint."
    )
    P522 = (
        "Rank {rank} needs GPU {gpu} and NCCL, but PyTorch finds {n} GPUs here. Start no more "
        "processes on a machine than it has GPUs, or leave out --gpu-id to train on CPUs."
    )
    P523 = (
        "The ranks do not read the same {what}. All must see the same corpus, and its reader must "
        "not shuffle by random numbers of its own: those of `random` are the same for all, and for "
        "training data those of NumPy."
    )
    P524 = (
        "Rank {rank} trains otherwise than rank 0: the {what} differ. All ranks must see the same "
        "command, config, code, corpus and vectors."
    )
    P525 = (
        "--workers starts the processes of one machine, but this one was started by torchrun or "
        "its like: {names} is set. Leave out --workers."
    )
    P526 = "--workers must be at least 1, not {n}."
    P527 = (
        "Rank {rank} {how}, which ended the training. Start it again with --resume: it goes on "
        "from the last checkpoint, if there is one."
    )
    P528 = (
        "Another rank has not answered for {seconds:g} seconds: it is frozen, cut off, or was not "
        "started ({problem}). End all ranks, and start them again; --resume goes on from the last "
        "checkpoint. If it only takes longer, e.g. to save on a slow disk, set a larger --timeout."
    )

    # Distillation (P530-P549)
    P530 = (
        "The teacher '{teacher}' has no component that '{name}', a {kind}, can learn from (found: "
        "{found}). Give a pipeline with one, or name another with --teacher-component."
    )
    P531 = (
        "The labels of the teacher and of '{name}' differ: {problem}. A student learns the labels "
        "of its teacher: use its labels, target and scheme."
    )
    P532 = (
        "The teachers read or write different things: {first} and {second}. All teachers of one "
        "student need the same target and labels."
    )
    P533 = (
        "The cached probabilities in '{path}' are of a run that differs in its {problem}. Choose "
        "another --output, or use --force to replace them."
    )
    P534 = "The cached probabilities in '{path}' are damaged: {problem}. Remove the folder."
    P535 = "There is nothing to learn from: {problem}. Give files with texts (--texts), or --gold."
    P536 = (
        "The teacher finds no predicates in any of {n} texts, so there is nothing to learn. Give "
        ".spacy files with frames or predicates, or a teacher that finds them, with "
        "spacy_psa.VerbPredicates.v1."
    )
    P537 = (
        "The config has no {what}. `psa distill` trains one component, with train_corpus set to "
        '"corpora.train", which the texts and the teacher\'s probabilities replace.'
    )
    P538 = (
        "The teacher and the student read different tokens of '{text}'. Give both the same words, "
        "or distill with `psa distill`, which aligns them."
    )
    P539 = (
        "The component '{name}' listens to '{upstream}' with a width of {found}, but gets vectors "
        "of width {width}. Set 'width' of its Tok2VecListener to {width}."
    )
    P540 = (
        "'{name}' cannot learn from its teacher what 'constrain_training' rules out, and the "
        "teacher does not: {why}. Set 'constrain_training' of '{name}' to false."
    )
    P541 = (
        "--select chooses texts by uncertainty, but '{component}' of '{path}' gives no "
        "probabilities. Choose by another pipeline, such as an earlier student, with --select-by; "
        "or read the first texts with --limit."
    )
    P542 = (
        "The teacher's probabilities cannot be kept in '{path}', which has other contents, such as "
        "'{found}'. Choose another --output."
    )


class Warnings(metaclass=_Coded):
    """Warnings: nothing is lost, but the user should know."""

    W010 = (
        "Triton is installed, but does not work on {device}, so PyTorch is used instead, which is "
        "slower: {reason}. Fix this, or set the environment variable {switch}=0 to silence this "
        "warning."
    )
    W011 = (
        "This network cannot be trained with CUDA graphs, so it is trained without, which is "
        "slower: {reason}. Set cuda_graphs = false in its model to silence this warning."
    )
    W012 = (
        "In bfloat16 on this processor, the last digits of a score depend on the other texts of "
        "the batch. To prevent that, set the environment variable {variable}={value} before Python "
        "starts; set it to DEFAULT to silence this warning."
    )
    W110 = "Found {n} problems in the corpus, the first one: {example}"
    W111 = "The corpus {path} was read with these exceptions: {notes}."
    W201 = (
        "The word embeddings were initialized from a sample of {n_docs} documents, and know no "
        "other words. Only 'psa_tagger', 'psa_srl' and 'psa_tok2vec' initialize "
        "'spacy_psa.WordCharEmbed.v1' from all training data. Use it only in these, and e.g. "
        "spacy.HashEmbedCNN.v2 in other components and for `spacy pretrain`."
    )
    W247 = (
        "The tokenizer of '{name}' has no limit, and its transformer has {positions} positions: a "
        "text of more subwords is an error. Set model_max_length = {positions} in the "
        "[tokenizer_config] of the transformer, and they are cut off."
    )
    W240 = (
        "None of the {n} characters in the training data has a vector as a word of its own, so "
        "their embeddings stay random. Use 'character_initialization' for languages such as "
        "Chinese, and remove it otherwise."
    )
    W301 = (
        "The span '{text}' ({label}, tokens {start} to {end}) in doc.spans['{key}'] overlaps "
        "another span, which tags cannot encode. It is skipped in training, in the document "
        "beginning '{doc}'."
    )
    W302 = (
        "The span '{text}' ({label}, tokens {start} to {end}) crosses a sentence boundary. It is "
        "skipped in training, in the document beginning '{doc}'."
    )
    W320 = (
        "The predicate '{token}' (token {index}) is not a single token in the predicted document. "
        "Its frame is skipped in training, in the document beginning '{doc}'."
    )
    W321 = (
        "The argument {role} '{text}' (tokens {start} to {end}) {problem}. It is skipped in "
        "training, in the document beginning '{doc}'."
    )
    # Robustness: long input and processes (W405-W409)
    W405 = (
        "Some sentences are longer than max_length ({max_length}) in [components.{name}.model]. "
        "Arguments outside a predicate's window are not found in them. If these are documents "
        "without sentence boundaries, add a component that sets them (such as 'sentencizer') "
        "before '{name}'."
    )
    W530 = (
        "The teacher is much less certain of {path} than of {known}: its entropy per token is "
        "{found:.3f} and {expected:.3f} nats. Are these texts in the language and of the kind that "
        "it was trained on?"
    )
    W531 = (
        "Only {found:.0%} of the words of {path} occur in {known}, whose halves share "
        "{expected:.0%} of theirs. Are these texts in another language? A teacher may be certain "
        "of them and wrong."
    )
    # Robustness: bad training data (W430-W439)
    W430 = (
        "The labels {labels} occur in the evaluation data, but '{name}' was not trained on them, "
        "so they can only be missed. Check that training and evaluation data are annotated alike, "
        "or add documents with these labels to the training data."
    )
    W431 = (
        "No token in the training examples for '{name}' has known annotation, so there is nothing "
        "to learn. Check that the corpus is annotated, and that its tokens match those of the "
        "pipeline's tokenizer (or set gold_preproc = true in [corpora.train])."
    )
    W432 = "spaCy ignores the unknown setting {setting}.{suggestion}"
    W433 = (
        "'{name}' gained the labels {labels}, which it did not have, but which occur in the "
        "training examples. If they are misspelled, correct them and start again from the original "
        "pipeline."
    )
    W434 = (
        "The corpus is streamed (max_epochs = -1), so that '{name}' was initialized with its first "
        "documents only: it has embeddings for {n_words} words, and others count as unknown in "
        "training. Write the vocabulary of the whole corpus with `python -m spacy psa vocabulary`, "
        "and set [initialize.components.{name}.vocabulary] to it."
    )
    W435 = (
        "The training of '{name}' goes nowhere: {n} evaluations in a row "
        "found {what}. Early in a training, that may pass. If the next ones do too, check that the "
        "annotation of the target is in the training data, and try what the config lacks of this: "
        "the optimizer, learning rate and dropout of `python -m spacy psa init-config --recipe "
        "best`, more updates, a BiLSTM-CRF, pretrained vectors."
    )
    W436 = (
        "{path} has {n} Docs, fewer than {smallest}: too few to learn from. Annotate more, or "
        "train on from a pipeline that knows the task."
    )
    W437 = (
        "The development data {path} are the training data: all {n} Docs are the same. The scores "
        "say what was memorized, not what was learned. Hold out others with `python -m spacy psa "
        "split`."
    )
    W438 = (
        "Updates of '{name}' change nothing: the learning rate is 0, as at the beginning and end "
        "of the schedule in a config, which only training loops move on. In a loop of your own, "
        "pass another optimizer, such as sgd=thinc.api.Adam(0.001), or call sgd.step_schedules()."
    )
    W439 = (
        "{path} has no annotation of the target {target}, so '{name}' cannot learn it. Annotated: "
        "{found}."
    )
    W442 = (
        "Only {share:.0%} of the tokens of the training data have a vector: are the vectors of "
        "another language, or of words in another spelling? Words are looked up by {attr}."
    )
    W443 = (
        "'{name}' gained '{label}' as a label of whole spans. If it is the tag of a token in a "
        "span, leave it out: the label is '{meant}', which has such tags by itself."
    )
    W444 = (
        "'{name}' gained the label '{label}', which differs from '{known}' in case alone. If they "
        "mean the same, write them alike in the data."
    )
    W445 = (
        "spaCy's tokenizer makes other words of the text in {n} of the {total} Docs of {path}, the "
        "first in {text!r}. Systems learn from those words, and are scored on the corpus's. To "
        "train on the corpus's too, as the papers do, convert CoNLL-U with --option spaces=false."
    )
    W446 = (
        "None of the {n} evaluation examples is annotated for '{name}' (target '{target}'), so its "
        "scores say nothing, nor which pipeline is best. Check --paths.dev or [corpora.dev]."
    )
    W447 = (
        "The component '{upstream}', to which '{name}' listens, has not read {text!r}, so the "
        "predictions mean nothing. Enable it, in front of '{name}'; in training, add it to "
        "annotating_components; for a query, such as nbest, make the Doc with "
        "nlp(text, disable=['{name}'])."
    )
    W448 = (
        "The component '{name}' listens to '{upstream}', but in prediction it gets the vectors of "
        "'{other}', which comes later in the pipeline and overwrites them. Put '{upstream}' right "
        "before '{name}', and '{other}' after it."
    )
    W449 = (
        "'{name}' was calibrated (temperature {temperature:.3g}) before this training, which makes "
        "other probabilities: afterwards, calibrate it again, with `python -m spacy psa calibrate`."
    )
    W450 = (
        "'{first}' and '{name}' both predict {layer}, which is scored at the end of the pipeline: "
        "the score is that of both together. Give them different layers, such as a 'spans_key' "
        "each, or evaluate one of them, with `python -m spacy psa evaluate --component {first}`."
    )
    W451 = (
        "doc.user_data has values that cannot be sent to another process ({names}), so a scorer "
        "does not find them. Store plain values, or train in one process."
    )
    W452 = (
        "Training ends after max_steps = {steps} updates, but the learning rate is for "
        "total_steps = {total}: it will not have decayed. Set total_steps in "
        "[training.optimizer.learn_rate] to {steps}, too, and warmup_steps to a tenth."
    )
    W453 = (
        "Of the log '{path}', {n} line(s) are no JSON, the first is line {line}: they are skipped, "
        "so that evaluations may be missing. Check how it was copied."
    )
    W454 = (
        "The tokenizer of {model} makes other tokens of {share:.0%} of the words of {data}, e.g. "
        "of '{word}'. Training made tokens of the texts, but these are the scores for the words. "
        "For those of texts, use `python -m spacy benchmark accuracy`; to train on the words, set "
        "gold_preproc = true in [corpora.train] and [corpora.dev]."
    )
    # Earlier names (W440-W441)
    W440 = "{old} is now called {new}: say so next time."
    W441 = (
        "{old} is now called {new}: a Transformer that is trained from scratch. To stand on a "
        "pretrained transformer, use `psa init-config --transformer NAME`."
    )


def suggestion(name: str, options: Iterable[str], cutoff: float = 0.6) -> str:
    """Suggest the option that may have been meant."""
    by_case = {option.lower(): option for option in options}
    nearest = get_close_matches(str(name).lower(), by_case, n=1, cutoff=cutoff)
    return f" Did you mean '{by_case[nearest[0]]}'?" if nearest else ""


def reason_of(error: Exception) -> str:
    """What an error says, to be part of another message: its first line, without a full stop."""
    return str(error).partition("\n")[0].rstrip(".")


def check_choice(what: str, name: Any, options: Iterable[str]) -> None:
    """Check that a name is one of the options, for what messages call `what`."""
    options = list(options)
    if name not in options:
        names = {"suggestion": suggestion(name, options), "options": ", ".join(options)}
        raise ValueError(Errors.P100.format(what=what, name=name, **names))


def invalid(name: str, value: Any, expected: str) -> ValueError:
    """The error for a setting with a value that is not what is expected."""
    return ValueError(Errors.P210.format(name=name, value=repr(value)[:200], expected=expected))


def check_value(name: str, value: Any, holds: Callable[[Any], bool], expected: str) -> None:
    """Check a number in a config."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and abs(value) >= LARGEST:
        is_number, expected = False, "less than 2^63"
    if not is_number or not holds(value):
        raise invalid(name, value, expected)


def check_counts(**counts: Any) -> None:
    """Check that numbers in a config are at least 1."""
    for name, count in counts.items():
        check_value(name, count, lambda n: n >= 1, "at least 1")


def warn(message: str) -> None:
    """Issue a warning, attributed to the caller's caller."""
    warnings.warn(message, UserWarning, stacklevel=3)
