"""Join structure alone: which relations share which join variables. No names, no data."""

from dataclasses import dataclass, field
from typing import Literal

from tests.ground.choose import Chooser, chance, pick

Kind = Literal["tree", "chain", "star", "hub", "cycle"]


@dataclass
class Node:
    """A relation to be. It meets its parent in the variables `shared`, all of which the parent has too."""

    variables: list[int] = field(default_factory=list)
    parent: "Node | None" = None
    shared: tuple[int, ...] = ()
    unique: bool = False
    """No two rows agree in all of `shared`: the parent's key is a foreign key."""
    left: bool = False


@dataclass(frozen=True)
class Shape:
    nodes: tuple[Node, ...]
    variables: int
    cyclic: bool


@dataclass(frozen=True)
class Limits:
    """What the shape may have; None leaves it to chance."""

    acyclic: bool | None
    relations: tuple[int, int]
    many_to_many: bool | None
    left_joins: bool
    to_many: bool = False


def draw_shape(chooser: Chooser, limits: Limits) -> Shape:
    """Acyclic by construction: a child's shared variables are all its parent's, or new ones given to both."""
    low, high = limits.relations
    size = chooser.integer(low if limits.acyclic is not False else max(low, 3), high)
    kind = _kind(chooser, limits, size)
    grower = _Grower(chooser, limits, kind)
    if kind == "cycle":
        grower.cycle(4 if size > 3 and chance(chooser, 40) else 3)
    else:
        grower.nodes.append(Node())
    while len(grower.nodes) < size:
        grower.grow()
    return Shape(tuple(grower.nodes), grower.variables, kind == "cycle")


def _kind(chooser: Chooser, limits: Limits, size: int) -> Kind:
    if limits.acyclic is False:
        return "cycle"
    if limits.acyclic is None and size >= 3 and limits.many_to_many is not False and chance(chooser, 15):
        return "cycle"
    kinds: tuple[Kind, ...] = ("tree", "chain", "star", "hub")
    return pick(chooser, kinds)


@dataclass
class _Grower:
    chooser: Chooser
    limits: Limits
    kind: Kind
    nodes: list[Node] = field(default_factory=list)
    variables: int = 0

    def new_variable(self, *nodes: Node) -> int:
        for node in nodes:
            node.variables.append(self.variables)
        self.variables += 1
        return self.variables - 1

    def cycle(self, length: int) -> None:
        """One variable for each side of the polygon. No later node gets them all, so it stays a cycle."""
        self.nodes += [Node() for _ in range(length)]
        for index in range(length):
            self.new_variable(self.nodes[index], self.nodes[(index + 1) % length])

    def grow(self) -> None:
        parent = self._parent()
        node = Node(parent=parent, unique=(parent.left and not self.limits.to_many) or self._unique())
        self.nodes.append(node)
        if parent.left or not self._apart():
            shared = self._inherited(parent)
            node.variables += shared
            if not shared or chance(self.chooser, 20):
                shared.append(self.new_variable(parent, node))
            node.shared = tuple(shared)
        may_be_left = self.limits.left_joins and (node.unique or self.limits.to_many) and node.shared
        node.left = parent.left or bool(may_be_left and chance(self.chooser, 35))

    def _parent(self) -> Node:
        """The optional side of a LEFT JOIN has only such children: no parent but by luck."""
        last = len(self.nodes) - 1
        wanted = {"chain": last, "star": 0, "hub": 0}.get(self.kind)
        index = self.chooser.integer(0, last) if wanted is None else wanted
        if self.nodes[index].left and (self.limits.many_to_many or not chance(self.chooser, 50)):
            return self.nodes[0]
        return self.nodes[index]

    def _unique(self) -> bool:
        """With `many_to_many` the first child makes sure of it, and the others please themselves."""
        if self.limits.many_to_many is False:
            return True
        if self.limits.many_to_many and len(self.nodes) == 1:
            return False
        return chance(self.chooser, 55)

    def _apart(self) -> bool:
        """Whether to be a factor of a cross product."""
        return self.kind not in ("cycle", "hub") and self.limits.many_to_many is None and chance(self.chooser, 5)

    def _inherited(self, parent: Node) -> list[int]:
        if self.kind == "hub" and self.variables:
            return [parent.variables[0]]
        if parent.variables and chance(self.chooser, 35):
            return [pick(self.chooser, parent.variables)]
        return []
