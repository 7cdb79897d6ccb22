"""Required: addresses, refusals, handles that travel, and a place for Lance."""

from __future__ import annotations

import pickle
from dataclasses import replace
from inspect import isclass

import pytest

from omnigraph.errors import ReadOnlyError, StorageCondition, StorageError, UnsupportedCapabilityError
from omnigraph.storage import ROOT, Capability, StorageAdapter, probe_create_if_absent
from omnigraph.testing.storage_contract.clauses import ContractClauses, reopened

REFUSED_NAMES = (
    "", ".", "a/..", "..", "a/../../b", "new\nline", "nul\0", "bell\a", "left#123", "dir#7/x", "lone\udc80",
    "x" * 201, "y/" * 460,
)  # fmt: skip
"""Names that no backend may take: empty, outside, unprintable, reserved for temporary files, or too long."""


class PromiseClauses(ContractClauses):
    """C26, C29, C31 and what an adapter owes beyond its verbs."""

    def test_dots_in_a_name_are_folded(self, adapter: StorageAdapter) -> None:
        adapter.write(adapter.key("a/../b/./c"), b"1")
        assert adapter.key("a/../b/./c") == adapter.key("b/c")
        assert self.peek(adapter, "b/c") == b"1"

    def test_a_full_uri_below_the_root_names_the_same_object(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "dir/some object", b"1")
        key = adapter.key("dir/some object")
        assert adapter.key(adapter.uri(key)) == key
        assert adapter.read(adapter.key(adapter.uri(key))) == b"1"

    @pytest.mark.parametrize("name", REFUSED_NAMES, ids=ascii)
    def test_a_name_that_no_backend_can_keep_is_refused(self, adapter: StorageAdapter, name: str) -> None:
        with pytest.raises(StorageError) as caught:
            adapter.key(name)
        assert caught.value.condition is StorageCondition.CONFIGURATION
        assert caught.value.help

    def test_a_uri_outside_the_root_is_refused(self, adapter: StorageAdapter) -> None:
        root = str(adapter.root)
        for outside in ("s3://another-bucket/x", "/another/place", f"{root}-sibling/x", root, f"{root}/"):
            with pytest.raises(StorageError) as caught:
                adapter.key(outside)
            assert caught.value.condition is StorageCondition.CONFIGURATION

    def test_roots_do_not_see_each_other(self, adapter: StorageAdapter) -> None:
        top = f"{adapter.root.path}/" if adapter.root.path else ""
        one, beside, below = (
            self.at_root(adapter, replace(adapter.root, path=f"{top}{name}")) for name in ("x", "x_log", "x/nested")
        )
        with one, beside, below:
            for number, each in enumerate((one, beside, below)):
                each.write(each.key("same name"), b"%d" % number)
            assert [each.read(each.key("same name")) for each in (one, beside, below)] == [b"0", b"1", b"2"]
            assert sorted(map(str, one.list())) == ["nested/same name", "same name"]
            assert list(map(str, beside.list())) == ["same name"]
            below.delete_prefix(ROOT)
            assert list(map(str, one.list())) == ["same name"]
            one.delete_prefix(ROOT)
            assert beside.read(beside.key("same name")) == b"1"

    def test_a_reader_changes_nothing(self, adapter: StorageAdapter) -> None:
        self.plant(adapter, "kept", b"1")
        key = adapter.key("kept")
        token = adapter.read_versioned(key).token
        adapter.is_read_only = True
        reader = reopened(adapter)
        for change in (
            lambda: reader.write(key, b"2"),
            lambda: reader.write_if_absent(adapter.key("new"), b"2"),
            lambda: reader.write_if_match(key, b"2", token),
            lambda: reader.rename(key, adapter.key("new")),
            lambda: reader.delete(key),
            lambda: reader.delete_prefix(ROOT),
        ):
            with pytest.raises(ReadOnlyError):
                change()
        assert reader.read(key) == b"1"
        assert self.peek(adapter, "new") is None

    def test_an_error_names_the_object_and_the_next_move_and_travels(self, adapter: StorageAdapter) -> None:
        with pytest.raises(StorageError) as caught:
            adapter.read(adapter.key("missing"))
        error = caught.value
        assert adapter.uri(adapter.key("missing")) in error.message
        assert error.help
        again = pickle.loads(pickle.dumps(error))  # bytes of our own making
        assert (again.condition, again.to_dict()) == (error.condition, error.to_dict())

    def test_an_adapter_travels_as_its_place(self, adapter: StorageAdapter) -> None:
        adapter.write(adapter.key("object"), b"1")
        again = reopened(adapter)
        assert again.root == adapter.root
        assert again.read(again.key("object")) == b"1"

    def test_the_repr_shows_the_place_and_no_option(self, adapter: StorageAdapter) -> None:
        shown = repr(adapter)
        assert str(adapter.root) in shown
        assert not [value for value in adapter.options.values() if isinstance(value, str) and value in shown]

    def test_create_if_absent_is_honest(self, adapter: StorageAdapter) -> None:
        probe_create_if_absent(adapter)
        assert list(adapter.list()) == []

    def test_write_if_match_is_declared_or_refused(self, adapter: StorageAdapter) -> None:
        key = adapter.key("object")
        adapter.write(key, b"1")
        token = adapter.read_versioned(key).token
        if Capability.WRITE_IF_MATCH in self.capabilities:
            assert adapter.write_if_match(key, b"2", token) is not None
        else:
            with pytest.raises(UnsupportedCapabilityError):
                adapter.write_if_match(key, b"2", token)
            assert self.peek(adapter, "object") == b"1"

    def test_races_and_declared_capabilities_have_their_contracts_in_this_module(
        self, request: pytest.FixtureRequest
    ) -> None:
        classes = [each for name, each in vars(request.module).items() if name.startswith("Test") and isclass(each)]
        tested = {vars(base).get("contract_of") for each in classes for base in each.__mro__}
        needed = {"races", *self.capabilities}
        if Capability.WRITE_IF_MATCH in needed:
            needed.add("races of write_if_match")
        assert needed <= tested, f"no contract class for {sorted(map(str, needed - tested))}"

    def test_lance_keeps_a_table_where_the_adapter_says(self, adapter: StorageAdapter) -> None:
        # Only omnigraph.tables imports lance, and only the clause that needs it pays for it.
        from omnigraph.tables.probe import probe_lance

        adapter.check_lance_commits()
        probe_lance(adapter.lance_location(adapter.key("nodes/some table #1 100%")))

    def test_tables_with_odd_names_stay_apart(self, adapter: StorageAdapter) -> None:
        from omnigraph.tables.probe import probe_lance

        # A second create at the place of the first would fail: "#" and "?" must not end a name, "%41" must not be "A".
        for name in ("t", "t#x", "t?x", "t%41", "tA", "t x", "tü"):
            probe_lance(adapter.lance_location(adapter.key(f"nodes/{name}")))

    def test_made_durable_objects_are_still_there(self, adapter: StorageAdapter) -> None:
        adapter.write(adapter.key("deep/er/file"), b"1")
        adapter.make_durable([adapter.key("deep/er/file")])
        adapter.make_durable([])
        assert self.peek(adapter, "deep/er/file") == b"1"
