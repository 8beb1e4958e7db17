"""Writes the Parquet files of this folder, with pyarrow and so not with the reader's own library.

Run it in a virtual environment that has requirements.txt; it writes beside itself.
"""

import datetime
import decimal
import json
import pathlib
import shutil

import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent

LENGTHS = [
    {"timestamp": 0, "input_length": 1300, "output_length": 20, "hash_ids": [1, 2, 3]},
    {"timestamp": 27.5, "input_length": 1400, "output_length": 30, "hash_ids": [1, 2, 9223372036854775807]},
    {"timestamp": 3000, "input_length": 500, "output_length": 40, "hash_ids": [4]},
]

# What push_to_hub fills with null: every key that some other record has, at every depth.
CONVERSATIONS = [
    {"timestamp": 0, "session_id": "a", "output_length": 5, "messages": [{"role": "user", "content": "Grüße \"1\""}]},
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


def lines(name, records):
    text = "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)
    (HERE / name).write_text(text, encoding="utf-8")


def table(records, schema=None):
    return pa.Table.from_pylist(records, schema=schema)


def infer(records):
    """A schema with the keys of all records; from_pylist takes those of the first one only."""

    def of(values):
        values = [value for value in values if value is not None]
        if values and isinstance(values[0], dict):
            keys = dict.fromkeys(key for value in values for key in value)
            return pa.struct([(key, of([value.get(key) for value in values])) for key in keys])
        if values and isinstance(values[0], list):
            return pa.list_(of([item for value in values for item in value]))
        return pa.array(values).type

    return pa.schema(list(of(records)))


def write(name, data, **options):
    path = HERE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, path, **options)


def empty_files():
    schema = table(LENGTHS).schema
    write("no_rows.parquet", table([], schema))
    with pq.ParquetWriter(HERE / "no_row_groups.parquet", schema):
        pass
    (HERE / "no_bytes.parquet").write_bytes(b"")


def good_files():
    lines("lengths.jsonl", LENGTHS)
    write("lengths.parquet", table(LENGTHS), row_group_size=2)
    lines("conversations.jsonl", CONVERSATIONS)
    write("conversations.parquet", table(CONVERSATIONS, infer(CONVERSATIONS)))
    for codec in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        write(f"codecs/{codec}.parquet", table(LENGTHS), compression=codec)

    lines("types.jsonl", [{"timestamp": 0, "input_length": 5, "extra": extra} for extra in TYPES])
    extra = pa.struct(
        [
            ("int8", pa.int8()),
            ("uint64", pa.uint64()),
            ("int64", pa.int64()),
            ("float", pa.float32()),
            ("double", pa.float64()),
            ("bool", pa.bool_()),
            ("large", pa.large_string()),
            ("list", pa.large_list(pa.int32())),
            ("pair", pa.list_(pa.int16(), 2)),
            ("empty", pa.list_(pa.string())),
            ("null", pa.null()),
        ]
    )
    columns = {
        "timestamp": pa.array([0] * len(TYPES), pa.uint16()),
        "input_length": pa.array(["5"] * len(TYPES)).cast(pa.int64()),
        "extra": pa.array(TYPES, extra),
    }
    write("types.parquet", pa.table(columns))

    lines("dictionary.jsonl", [{"text_input": "x", "session_id": "s"}, {"text_input": "y"}])
    columns = {
        "text_input": pa.array(["x", "y"], pa.large_string()).dictionary_encode(),
        "session_id": pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), pa.array(["s"])),
    }
    write("dictionary.parquet", pa.table(columns))


TYPES = [
    {
        "int8": -128,
        "uint64": 18446744073709551615,
        "int64": -9223372036854775808,
        "float": 0.10000000149011612,
        "double": 0.1,
        "bool": False,
        "large": "a\n\u0001é",
        "list": [1, None, 3],
        "pair": [1, 2],
        "empty": [],
    },
    {"int64": 9007199254740993, "double": 1e300, "bool": True},
]


def json_columns():
    """Strings that hold JSON, by Arrow's name for them, and by Parquet's own where the Arrow schema is not kept."""
    (HERE / "json_column.jsonl").write_text('{"text_input":"x","extra":{"a":[1.50,null]}}\n{"text_input":"y"}\n')
    texts = pa.array(['{"a": [1.50, null]}', None], pa.json_())
    columns = {"text_input": pa.array(["x", "y"]), "extra": texts}
    write("json_column.parquet", pa.table(columns))
    write("json_column_of_parquet.parquet", pa.table(columns), store_schema=False)
    broken = pa.array(["{'a': 1}"], pa.json_())
    write("refused/json.parquet", pa.table({"text_input": pa.array(["x"]), "extra": broken}))


def null_content():
    """A list of structs with a key that is null: the format then misses the key, and says where."""
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    rows = [
        {"messages": [{"role": "user", "content": "a"}]},
        {"messages": [{"role": "user", "content": "b"}, {"role": None, "content": None}]},
        {"messages": None},
    ]
    write("null_content.parquet", table(rows, pa.schema([("messages", pa.list_(message))])))


def bad_files():
    now = datetime.datetime(2026, 1, 2, 3, 4, 5)
    lengths = pa.array([5])
    for unit in ["s", "ms", "us", "ns"]:
        stamp = pa.array([now], pa.timestamp(unit))
        write(f"refused/timestamp_{unit}.parquet", pa.table({"input_length": lengths, "timestamp": stamp}))
    aware = pa.array([now], pa.timestamp("us", tz="Asia/Shanghai"))
    write("refused/timestamp_tz.parquet", pa.table({"input_length": lengths, "timestamp": aware}))
    nested = pa.struct([("at", pa.timestamp("ms")), ("name", pa.string())])
    columns = {
        "input_length": lengths,
        "payload": pa.array([b"{}"]),
        "cost": pa.array([decimal.Decimal("1.5")]),
        "headers": pa.array([[("a", "b")]], pa.map_(pa.string(), pa.string())),
        "day": pa.array([now.date()]),
        "turns": pa.array([[{"at": now, "name": "x"}]], pa.list_(nested)),
    }
    write("refused/columns.parquet", pa.table(columns))
    floats = {
        "timestamp": pa.array([0.0, float("nan"), 2.0]),
        "input_length": pa.array([5, 5, 5]),
        "extra": pa.array([{"bias": [0.5]}, {"bias": [0.5]}, {"bias": [0.5, float("-inf")]}]),
    }
    write("refused/not_finite.parquet", pa.table(floats))
    whole = (HERE / "lengths.parquet").read_bytes()
    (HERE / "refused/cut.parquet").write_bytes(whole[: len(whole) // 2])
    write("refused/lines.parquet", table([{"input_length": 5}, {"input_length": 0}, {"input_length": -1}]))


def folders():
    for split in ["train", "test"]:
        for number in range(2):
            write(f"splits/{split}-{number:05}-of-00002.parquet", table([{"text_input": f"{split} {number}"}]))
    (HERE / "splits/README.md").write_text("# A dataset\n")
    for split in ["test", "validation"]:
        write(f"splits_without_train/{split}-00000-of-00001.parquet", table([{"text_input": split}]))
    write("shard_missing/train-00001-of-00002.parquet", table([{"text_input": "1"}]))

    for number in [1, 0]:
        name = f"part-{number:05}-c0ffee-c000.snappy.parquet"
        write(f"spark/{name}", table([{"text_input": f"{number}"}, {"text_input": f"{number} again"}]))
        (HERE / f"spark/.{name}.crc").write_bytes(b"crc\0")
    (HERE / "spark/_SUCCESS").write_bytes(b"")
    (HERE / "spark/_committed_1").write_text("{}")
    (HERE / "spark/aiperf.json").write_text('{"path": ".", "format": "mooncake_trace"}\n')

    write("configs/default/train-00000-of-00001.parquet", table([{"text_input": "deep"}]))
    write("hive/day=1/part-0.parquet", table([{"text_input": "1"}]))
    write("hive/day=2/part-0.parquet", table([{"text_input": "2"}]))
    write("datasets/a/0.parquet", table([{"text_input": "a"}]))
    write("datasets/b/0.parquet", table([{"text_input": "b"}]))
    write("other_files/0.parquet", table([{"text_input": "a"}]))
    (HERE / "other_files/more.csv").write_text("a,b\n")
    # Told by content: a name says nothing.
    write("other_files/1.data", table([{"text_input": "b"}]))


for old in HERE.iterdir():
    if old.is_dir() and old.name != "push_to_hub":
        shutil.rmtree(old)
good_files()
empty_files()
json_columns()
null_content()
bad_files()
folders()
