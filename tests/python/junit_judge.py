"""Holds JUnit XML against the two schemas in use: that of Apache Ant's reports (windyroad's JUnit.xsd) and that of Jenkins (its
xunit plugin's junit-10.xsd), by their rules on elements, their order, and attributes. Prints what it read as JSON.

usage: junit_judge.py FILE.xml
"""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree

# Each attribute: whether it is required, and the form of its value.
TEXT, COUNT, TIME = r"(?s).*", r"\d+", r"\d+\.\d+"
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"  # Ant's ISO8601_DATETIME_PATTERN
ATTRIBUTES = {
    "testsuites": {},
    "testsuite": {
        "name": r"(?s).+",
        "timestamp": STAMP,
        "hostname": r".+",
        "tests": COUNT,
        "failures": COUNT,
        "errors": COUNT,
        "time": TIME,
        "package": TEXT,
        "id": COUNT,
    },
    "properties": {},
    "property": {"name": r"(?s).+", "value": TEXT},
    "testcase": {"name": TEXT, "classname": TEXT, "time": TIME},
    "failure": {"message": TEXT, "type": TEXT},
    "error": {"message": TEXT, "type": TEXT},
    "system-out": {},
    "system-err": {},
}
# The children, in the order in which a schema has them; as a pattern over their names.
CHILDREN = {
    "testsuites": r"(testsuite )*",
    "testsuite": r"properties (testcase )*system-out system-err ",
    "properties": r"(property )*",
    "testcase": r"(error |failure )?",
}


def judge(element):
    name = element.tag
    assert name in ATTRIBUTES, f"<{name}> is no element of the schemas"
    wanted = ATTRIBUTES[name]
    assert set(element.attrib) == set(wanted), f"<{name}>: {sorted(element.attrib)}"
    for attribute, form in wanted.items():
        value = element.attrib[attribute]
        assert re.fullmatch(form, value), f"{name}/@{attribute}: {value!r}"
    children = "".join(child.tag + " " for child in element)
    assert re.fullmatch(CHILDREN.get(name, ""), children), f"<{name}> holds {children}"
    if name in CHILDREN:
        assert not (element.text or "").strip(), f"<{name}> has text of its own"
    for child in element:
        judge(child)


def main(path):
    root = ElementTree.parse(path).getroot()
    assert root.tag == "testsuites"
    judge(root)
    suites = []
    for number, suite in enumerate(root):
        cases = suite.findall("testcase")
        assert int(suite.get("id")) == number, "ids are the places of suites"
        assert int(suite.get("tests")) == len(cases)
        for kind, count in (("failure", "failures"), ("error", "errors")):
            assert int(suite.get(count)) == sum(case.find(kind) is not None for case in cases)
        assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases), "two cases of a name"
        suites.append(
            {
                "name": suite.get("name"),
                "cases": [
                    {
                        "name": case.get("name"),
                        "end": case[0].tag if len(case) else "passed",
                        "message": case[0].get("message") if len(case) else "",
                    }
                    for case in cases
                ],
                "out": suite.findtext("system-out"),
            }
        )
    print(json.dumps(suites))


main(sys.argv[1])
