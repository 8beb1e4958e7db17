"""Does with boto3 what a line of JSON asks for, and answers with a line of JSON: {"ok": ...} or {"error": ...}."""

import json
import sys

import boto3
from botocore.config import Config


def client(endpoint, access_key, secret_key):
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config=Config(s3={"addressing_style": "path"}, signature_version="s3v4"),
    )


def do(clients, call):
    arguments = call["arguments"]
    if call["method"] == "presign":
        return clients["signing"].generate_presigned_url(
            "get_object", Params=arguments["params"], ExpiresIn=arguments["seconds"]
        )
    if "Body" in arguments:
        arguments["Body"] = bytes.fromhex(arguments["Body"]["hexadecimal"])
    answer = getattr(clients["direct"], call["method"])(**arguments)
    answer.pop("ResponseMetadata")
    if "Body" in answer:
        answer["Body"] = answer["Body"].read().hex()
    return answer


def main():
    direct, signing, access_key, secret_key = sys.argv[1:]
    clients = {
        "direct": client(direct, access_key, secret_key),
        "signing": client(signing, access_key, secret_key),
    }
    for line in sys.stdin:
        try:
            answer = {"ok": do(clients, json.loads(line))}
        except Exception as error:
            answer = {"error": str(error)}
        print(json.dumps(answer, default=str), flush=True)


main()
