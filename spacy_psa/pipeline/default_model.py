"""The default network of `psa_tagger`: PSA (Wei et al. 2021), as in the recipe `best` of
`psa init-config`, with less dropout, so that it also learns from a few sentences.
"""

from thinc.api import Config

default_model_config = """
[model]
@architectures = "spacy_psa.SequenceLabeler.v1"
max_length = 512
overlap = 64
mixed_precision = null
cuda_graphs = false

[model.tok2vec]
@architectures = "spacy_psa.WordCharEmbed.v1"
width = null
attr = "NORM"
min_freq = 2
max_characters = 50
dropout = 0.1
digits = false
character_initialization = null
word_dropout = 0.0

[model.tok2vec.characters]
@architectures = "spacy_psa.CharacterBiLSTM.v1"
embedding_width = 30
width = 100

[model.encoder]
@architectures = "spacy_psa.PSAEncoder.v1"

[model.encoder.first_fusion]
@architectures = "spacy_psa.ContextFusion.v1"
dropout = 0.1

[model.encoder.first_fusion.bias]
@architectures = "spacy_psa.PSABias.v1"
window = 10
max_distance = 10
self_mask = false
gaussian = true
token_position = true

[model.encoder.first_fusion.gate]
@architectures = "spacy_psa.FeatureGate.v1"

[model.encoder.recurrent]
@architectures = "spacy_psa.BiLSTM.v1"
hidden_width = 300
depth = 1
input_dropout = 0.2
output_dropout = 0.2
variational = false

[model.encoder.second_fusion]
@architectures = "spacy_psa.ContextFusion.v1"
dropout = 0.1

[model.encoder.second_fusion.bias]
@architectures = "spacy_psa.PSABias.v1"
window = 10
max_distance = 10
self_mask = false
gaussian = true
token_position = true

[model.encoder.second_fusion.gate]
@architectures = "spacy_psa.FeatureGate.v1"

[model.decoder]
@architectures = "spacy_psa.CRF.v1"
"""
DEFAULT_PSA_MODEL = Config().from_str(default_model_config)["model"]
