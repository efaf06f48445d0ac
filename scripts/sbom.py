#!/usr/bin/env python3
"""The software bill of materials of the jetlag binary, as CycloneDX 1.5 JSON, from `cargo metadata` alone.

    scripts/sbom.py [--target aarch64-unknown-linux-gnu] [--features LIST] [--no-default-features] > jetlag.cdx.json

Only what is linked into the binary for that target is listed: no development dependency, and none of build scripts.
Equal lock files give equal output: no time stamp and no random number is in it.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def metadata(arguments):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", arguments.target]
    if arguments.features:
        command += ["--features", arguments.features]
    if arguments.no_default_features:
        command.append("--no-default-features")
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def linked(document):
    """Ids of the packages that the binary is made of, with what each depends on."""
    nodes = {node["id"]: node for node in document["resolve"]["nodes"]}
    macros = {
        package["id"]
        for package in document["packages"]
        if any("proc-macro" in target["kind"] for target in package["targets"])
    }
    found, open_ = {}, [document["resolve"]["root"]]
    while open_:
        here = open_.pop()
        if here in found:
            continue
        needs = [
            dep["pkg"]
            for dep in nodes[here]["deps"]
            # A kind of null is a normal dependency; macros run in the compiler.
            if any(kind["kind"] is None for kind in dep["dep_kinds"]) and dep["pkg"] not in macros
        ]
        found[here] = sorted(needs)
        open_ += needs
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="aarch64-unknown-linux-gnu")
    parser.add_argument("--features", default="")
    parser.add_argument("--no-default-features", action="store_true")
    arguments = parser.parse_args()
    document = metadata(arguments)
    lock = (ROOT / "Cargo.lock").read_bytes()
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in tomllib.loads(lock.decode())["package"]}
    packages = {package["id"]: package for package in document["packages"]}
    needs = linked(document)
    root = document["resolve"]["root"]

    def reference(package_id):
        package = packages[package_id]
        return f"pkg:cargo/{package['name']}@{package['version']}"

    def component(package_id):
        package = packages[package_id]
        entry = {
            "type": "application" if package_id == root else "library",
            "bom-ref": reference(package_id),
            "name": package["name"],
            "version": package["version"],
            "purl": reference(package_id),
        }
        if package["license"]:
            # Cargo still takes the old form with a slash.
            entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        checksum = checksums.get((package["name"], package["version"]))
        if checksum:
            entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        if package["repository"]:
            entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
        return entry

    seed = hashlib.sha256(lock + repr(vars(arguments)).encode()).hexdigest()
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.UUID(seed[:32])}",
        "version": 1,
        "metadata": {"component": component(root), "properties": [{"name": "target", "value": arguments.target}]},
        "components": [component(i) for i in sorted(needs, key=reference) if i != root],
        "dependencies": [
            {"ref": reference(i), "dependsOn": [reference(n) for n in needs[i]]} for i in sorted(needs, key=reference)
        ],
    }
    json.dump(bom, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
