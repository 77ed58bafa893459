"""Files as they are found in the world, with what `psa convert` must give of each."""

from typing import NamedTuple


class Oddity(NamedTuple):
    """A file, and what must come of it.

    name (str): What is odd.
    text (str): The file.
    expected (str): The annotation, written as `rendering.render` does, or the code of an error and
        a part of its message.
    options (str): The options of the command.
    """

    name: str
    text: str
    expected: str
    options: str = ""


BIO = "Ann B-PER\nLee I-PER\nran O\n"
READ = "[Ann Lee]PER ran"
MANY = "".join(f"word{i} O\n" if i % 9 else f"Name{i} B-PER\n\n" for i in range(1, 1000))
ODDITIES = [
    Oddity("plain", BIO, READ),
    Oddity("carriage returns", BIO.replace("\n", "\r"), READ),
    Oddity("Windows line ends", BIO.replace("\n", "\r\n"), READ),
    Oddity("byte order mark", "\ufeff" + BIO, READ),
    Oddity("no end of the last line", BIO.strip(), READ),
    Oddity(
        "spaces in words",
        "New York\tB-LOC\nis\tO\nAnn Lee\tB-PER\n",
        "[New York]LOC is [Ann Lee]PER",
    ),
    Oddity("header", "Token Tag\n" + BIO, READ),
    Oddity("header that is a tag, too", "Word POS\nAnn NNP\n's POS\n", "Ann/NNP 's/POS"),
    Oddity("header in capitals", "WORD\tPOS\tNER_TAG\nAnn\tNNP\tB-PER\n", "[Ann/NNP]PER"),
    Oddity("header of other words", "mot etiq\n" + BIO, "P116 line 1: 'etiq' in column ents"),
    Oddity("words called Token", "Token NN\nruns VBZ\n", "Token/NN runs/VBZ"),
    Oddity("index", "1\tAnn\tB-PER\n2\tLee\tI-PER\n3\tran\tO\n", READ),
    Oddity("index from 0", "0\tAnn\tB-PER\n1\tLee\tI-PER\n2\tran\tO\n", READ),
    Oddity("index named as words", "1 Ann O\n2 Lee O\n", "P180 numbers such as '1'", "-f iob"),
    Oddity(
        "index over all",
        "0 Ann B-PER\n1 ran O\n\n2 Bob B-PER\n3 sat O\n",
        "[Ann]PER ran | [Bob]PER sat",
    ),
    Oddity(
        "tags first",
        "B-PER Ann\nI-PER Lee\nO ran\n",
        "P183 --option word_column=1 --option tag_column=0",
    ),
    Oddity(
        "tags first, set",
        "B-PER Ann\nI-PER Lee\nO ran\n",
        READ,
        "-f iob -o word_column=1 -o tag_column=0",
    ),
    Oddity("tags named as words", "B-PER Ann\nO ran\n", "P180 tags such as 'B-PER'", "-f iob"),
    Oddity(
        "parts of speech first",
        "NNP Ann\nVBD ran\n",
        "P183 --format tagged --option word_column=1 --option tag_column=0",
    ),
    Oddity("parts of speech last", "Ann B-PER NNP\nran O VBD\n", "[Ann/NNP]PER ran/VBD"),
    Oddity("one odd tag among many", MANY + "Bob B_PER\n", "P116 'B_PER' in column ents"),
    Oddity("an odd tag among few", "Ann B_PER\nLee I-PER\nran O\n", "P116 line 1: 'B_PER'"),
    Oddity(
        "an odd tag, leniently", "Ann B-PER\nLee B_PER\nran O\n", "[Ann]PER Lee ran", "--lenient"
    ),
    Oddity("other labels", "Ann NNP B-Person\nran VBD O\n", "[Ann/NNP]Person ran/VBD"),
    Oddity("chunks", "He PRP B-NP\nran VBD B-VP\n. . O\n", "(He/PRP)NP (ran/VBD)VP ./."),
    Oddity("chunks as entities", "He PRP B-NP\nran VBD B-VP\n", "[He]NP [ran]VP", "-t ents"),
    Oddity("other chunks", "He PRP B-Subj\nran VBD B-Pred\n", "(He)Subj (ran)Pred", "-t spans"),
    Oddity("lower case", "He PRP b-np\nran VBD b-vp\n. . o\n", "(He/PRP)np (ran/VBD)vp ./."),
    Oddity("bare", "Ann B\nLee I\nran O\n", "[Ann Lee]ENT ran"),
    Oddity("bare, with a label", "Ann B\nLee I\nran O\n", "[Ann Lee]PER ran", "-O label=PER"),
    Oddity("bare, as chunks", "Ann B\nLee I\nran O\n", "(Ann Lee)ENT ran", "-t spans"),
    Oddity(
        "without prefixes", "Ana PESSOA\nLima PESSOA\nvive O\nem O\n", "[Ana Lima]PESSOA vive em"
    ),
    Oddity(
        "prefixes where none should be",
        BIO,
        "P145 'B-PER' has a prefix",
        "-f iob -o prefixes=false",
    ),
    Oddity("placeholders", "Ann _ _ B-PER\nLee _ _ I-PER\nran _ _ O\n", READ),
    Oddity(
        "placeholders for chunks",
        "-DOCSTART- -X- O O\n\nAnn -X- _ B-PER\nLee -X- _ I-PER\nran -X- _ O\n",
        READ,
    ),
    Oddity(
        "placeholders, named",
        "-DOCSTART- -X- O O\n\nAnn -X- _ B-PER\nLee -X- _ I-PER\nran -X- _ O\n",
        READ,
        "-f conll2003",
    ),
    Oddity(
        "MultiCoNER",
        "# id 7f domain=en\nAnn _ _ B-PER\nLee _ _ I-PER\n# _ _ O\n\n"
        "# id 8a domain=en\n# _ _ O\nran _ _ O\n",
        "[Ann Lee]PER # | # ran",
    ),
    Oddity(
        "GermEval",
        "#\thttp://example.org\t[2009]\n1\tAnn\tB-PER\tO\n2\tLee\tI-PER\tB-LOC\n3\t#\tO\tO\n",
        "[Ann Lee]PER #",
    ),
    Oddity(
        "UNER",
        "# sent_id = 1\n# text = Ann Lee ran\n"
        "1\tAnn\tB-PER\t-\tme\n2\tLee\tI-PER\t-\tme\n3\tran\tO\t-\tme\n",
        READ,
    ),
    Oddity(
        "German CoNLL-2003",
        "Die der ART I-NC O\nFrau Frau NN I-NC I-PER\nlief laufen VVFIN I-VC O\n",
        "(Die=der/ART [Frau=Frau/NN]PER)NC (lief=laufen/VVFIN)VC",
    ),
    Oddity("plus and minus", "Ann + B-PER\nLee + I-PER\nran - O\n", READ),
    Oddity("blank token", "Ann\tB-PER\n\tO\nran\tO\n", "P145 line 2: the word column (column 0"),
    Oddity("blank token, leniently", "Ann\tB-PER\n\tO\nran\tO\n", "[Ann]PER ran", "--lenient"),
    Oddity("blank token, named", "Ann\tB-PER\n\tO\nran\tO\n", "[Ann]PER ran", "-f iob --lenient"),
    Oddity(
        "spaCy's iob",
        "Ann|NNP|B-PER ran|VBD|O\nBob|NNP|B-PER sat|VBD|O\n",
        "[Ann/NNP]PER ran/VBD | [Bob/NNP]PER sat/VBD",
    ),
    Oddity("spaCy's iob without tags", "Ann|B-PER Lee|I-PER ran|O\n", READ),
    Oddity("words joined with tags", "The/DT cat/NN sat/VBD\n", "The/DT cat/NN sat/VBD"),
    Oddity(
        "numbers of documents and characters",
        "Ann\t7\t0\tB-PER\nran\t7\t4\tO\nhome\t7\t8\tO\n",
        "[Ann]PER ran home",
    ),
    Oddity("numbers of sentences", "7 Ann B-PER\n7 ran O\n8 Hi O\n", "[Ann]PER ran Hi"),
    Oddity("years as words", "1990 CD B-DATE\n", "[1990/CD]DATE"),
    Oddity(
        "labels without prefixes in lower case",
        "Ann person-actor\nran O\nto O\nthe O\nLouvre building\n",
        "[Ann]person-actor ran to the [Louvre]building",
    ),
    Oddity("one word with its tag a line", "The/DT\ncat/NN\n", "P181 --option separator='/'"),
    Oddity(
        "entities in CoNLL-U",
        "1\tAnn\tAnn\tPROPN\tNNP\t_\t0\troot\t_\tB-PER\n2\tran\trun\tVERB\tVBD\t_\t1\tdep\t_\tO\n",
        "[Ann=Ann/NNP]PER ran=run/VBD",
    ),
    Oddity("JSON", '{"text":"Ann ran","spans":[{"start":0,"end":3,"label":"P"}]}\n', "[Ann]P ran"),
    Oddity(
        "JSON with blanks",
        '\n{"text": "Ann ran", "spans": [{"start": 0, "end": 3, "label": "P"}]}\n\n',
        "[Ann]P ran",
    ),
    Oddity("semicolons", "Ann;B-PER\nran;O\n", "P181 --option separator=';'"),
    Oddity("commas", "Ann,NNP,B-PER\nran,VBD,O\n", "P181 --option separator=','"),
    Oddity("quoted commas", 'Nr,Word,Tag\n1,Ann,O\n,",",O\n,"""",O\n', "P181 separator=','"),
    Oddity("quotes between semicolons", 'Nr;Word;Tag\n1;Ann;O\n;";O\n', "P181 separator=';'"),
    Oddity(
        "spans by characters in CSV",
        "text,start,end,label\nAnn Lee ran,0,7,PER\n",
        "P119 a line of JSON for each text",
    ),
    Oddity(
        "spans by characters in CSV, a word each",
        "text,start,end,label\nAnn,0,3,PER\nBob,0,3,PER\n",
        "P119 a line of JSON for each text",
    ),
    Oddity(
        "HIPE",
        "TOKEN\tNE-COARSE-LIT\tNE-FINE-LIT\tMISC\n# date = 1900\n"
        "Ann\tB-pers\tB-pers.ind\t_\nran\tO\tO\t_\n",
        "[Ann]pers ran",
    ),
    Oddity("document boundaries only", "-DOCSTART- -X- O O\n\n", "P111 has no sentences"),
    Oddity(
        "document boundaries only, named",
        "-DOCSTART- -X- O O\n\n",
        "P111 has no sentences",
        "-f conll2003",
    ),
    Oddity(
        "document boundaries with tags", "-DOCSTART- O\n\nAnn NNP\nran VBD\n", "Ann/NNP ran/VBD"
    ),
    Oddity("frequencies", "the 900\nof 450\nto 300\n", "P117 which of the 2 columns has the tags"),
    Oddity(
        "parts of speech in two columns",
        "Ann X1 Y1\nran X2 Y2\nhome X3 Y3\n",
        "P117 which of the 3 columns",
    ),
    Oddity(
        "comments of several kinds",
        "# one\nAnn O O\n\n# two\nran O O\n",
        "P182 --option comment=",
    ),
]
