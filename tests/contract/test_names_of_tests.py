"""pytest takes a test module for another one of the same name, and runs neither."""

from collections import Counter

from tests.shared_data import ROOT


def test_no_two_test_modules_have_one_name() -> None:
    packages = {file.parent for file in (ROOT / "tests").rglob("__init__.py")}
    files = (ROOT / "tests").rglob("test_*.py")
    names = Counter(file.name for file in files if file.parent not in packages)
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []
