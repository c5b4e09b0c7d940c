#!/usr/bin/env python3
"""Reads a run's TensorBoard events with a reader of its own, checksums included, and compares them with
metrics.jsonl.

    read_events.py LOCKSTEP
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283  # the published check value


def unmasked(value):
    rotated = (value - 0xA282EAD8) & 0xFFFFFFFF
    return ((rotated >> 17) | (rotated << 15)) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        (length,), (check,) = struct.unpack_from("<Q", data, at), struct.unpack_from("<I", data, at + 8)
        assert unmasked(check) == crc32c(data[at:at + 8]), f"checksum of the length at byte {at}"
        event = data[at + 12:at + 12 + length]
        (check,) = struct.unpack_from("<I", data, at + 12 + length)
        assert unmasked(check) == crc32c(event), f"checksum of the event at byte {at}"
        yield event
        at += 16 + length
    assert at == len(data), "the last record is not whole"


def fields(data):
    """(number, value) of a protocol buffer; bytes stay bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
        else:
            size = 8 if key & 7 == 1 else 4
            yield key >> 3, struct.unpack_from("<d" if size == 8 else "<f", data, at)[0]
            at += size


def main():
    lockstep = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        run = pathlib.Path(name) / "run"
        subprocess.run([lockstep, "train", "iris-mlp", "--quiet", "--set", "train.epochs=20", "--set", "train.log_every=3", "--set",
                        "data.validation=0.2", "--out", str(run)], check=True, stdout=subprocess.DEVNULL)
        files = list(run.glob("events.out.tfevents.*"))
        assert len(files) == 1, files
        events = [dict(fields(event)) for event in records(files[0].read_bytes())]
        assert events[0][3] == b"brain.Event:2", events[0]
        read = []
        for event in events[1:]:
            assert event[1] > 1.6e9, "a wall time"
            scalars = {}
            for number, value in fields(event[5]):
                scalar = dict(fields(value))
                assert number == 1
                scalars[scalar[1].decode()] = scalar[2]
            assert event[2] == scalars["train/global_step"], "the step"
            read.append(scalars)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        assert list(lines.pop(0)) == ["run"], "the run's identifier comes first"
        assert len(lines) == len(read) and len(lines) > 20, (len(lines), len(read))
        for line, scalars in zip(lines, read):
            assert line.keys() == scalars.keys()
            for key, value in line.items():
                assert abs(value - scalars[key]) <= 1e-6 * max(1, abs(value)), (key, value, scalars[key])
        subprocess.run([lockstep, "train", "iris-mlp", "--quiet", "--set", "report.tensorboard=false", "--out", str(run), "--force"], check=True,
                       stdout=subprocess.DEVNULL)
        assert not list(run.glob("events.out.tfevents.*")), "none when not wanted, and none of an earlier run"
    print("the events are whole")


main()
