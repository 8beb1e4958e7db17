"""Writes the folder push_to_hub, with `datasets` and under the names that its push_to_hub gives to shards.

Run it in a virtual environment that has tests/requirements.txt of the repository; it writes beside itself.
"""

import json
import pathlib
import shutil
import tempfile

import datasets

HERE = pathlib.Path(__file__).parent / "push_to_hub"

# Every object has the same kinds of values under the same keys, though not all of them: the missing ones become null.
SAME_TYPES = [
    {"timestamp": 0, "session_id": "a", "output_length": 5, "messages": [{"role": "user", "content": "Grüße"}]},
    {
        "timestamp": 10,
        "session_id": "b",
        "messages": [
            {"role": "user", "content": "Call it"},
            {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "content": "3", "tool_call_id": "c1"},
        ],
        "extra": {"temperature": 0.25, "stop": ["x"]},
    },
    {"session_id": "a", "delay": 4500, "messages": [{"role": "user", "content": "2"}], "extra": {"logprobs": True}},
]

# Content is a string or a list, and a schema is keyed by what it is about: such objects are written as JSON.
MIXED_TYPES = [
    {
        "timestamp": 0,
        "messages": [
            {"role": "system", "content": "1e400 and \"quotes\""},
            {"role": "user", "content": [{"type": "text", "text": "Look\nhere"}], "name": None},
        ],
        "extra": {"n": 9223372036854775807, "logit_bias": {"50256": -100}},
    },
    {"timestamp": 1, "messages": [{"role": "user", "content": "3"}], "extra": {"n": 1.5, "stop": "x"}},
    {"timestamp": 2, "messages": [{"role": "user", "content": "4"}]},
]


def lines(config, records):
    folder = HERE / config
    folder.mkdir(parents=True)
    text = "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)
    (folder / "records.jsonl").write_text(text, encoding="utf-8")
    return folder


def shards(folder, dataset, count):
    for index in range(count):
        shard = dataset.shard(num_shards=count, index=index, contiguous=True)
        shard.to_parquet(folder / f"train-{index:05}-of-{count:05}.parquet")
    dataset.select([0]).to_parquet(folder / "test-00000-of-00001.parquet")


def filled():
    folder = lines("filled", SAME_TYPES)
    keys = dict.fromkeys(key for record in SAME_TYPES for key in record)
    shards(folder, datasets.Dataset.from_dict({key: [record.get(key) for record in SAME_TYPES] for key in keys}), 2)


def as_json():
    folder = lines("as_json", MIXED_TYPES)
    with tempfile.TemporaryDirectory() as cache:
        path = str(folder / "records.jsonl")
        shards(folder, datasets.load_dataset("json", data_files=path, split="train", cache_dir=cache), 1)


datasets.disable_progress_bars()
shutil.rmtree(HERE, ignore_errors=True)
filled()
as_json()
