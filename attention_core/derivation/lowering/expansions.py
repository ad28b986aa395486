"""A node as a sum of pieces of one variable, each with a factor that does not depend on it.

Integrals and sums without end in closed form read what is integrated or summed in this way.
"""

from __future__ import annotations

from attention_core.derivation.graph.nodes import Graph, TooLarge

Piece = tuple[int, int, int]
"""A power of the variable, and what tells the pieces of a kind apart."""
Sum = dict[Piece, int]  # with their factors


class Expansion:
    """A node as a sum of pieces of one leaf.

    Args:
        graph: The graph of the node.
        leaf: The variable.
    """

    plain: Piece
    name = "a closed form"
    """What the sum is taken for, in messages."""
    max_power, max_terms = 40, 400

    def __init__(self, graph: Graph, leaf: int) -> None:
        self.graph, self.leaf = graph, leaf
        self.known: dict[int, Sum] = {}

    def expand(self, root: int) -> Sum:
        """The sum that a node is.

        Args:
            root: The node.

        Raises:
            Unsettled: It is not such a sum.
            TooLarge: It has too many pieces.
        """
        for node in self.graph.reachable([root]):
            if node not in self.known:
                self.known[node] = self._expand_one(node)
        return self.known[root]

    def multiply_pieces(self, left: Piece, right: Piece) -> Piece:
        """The product of two pieces."""
        raise NotImplementedError

    def expand_function(self, node: int) -> Sum:
        """The sum that a node is which is neither a sum nor a product.

        Raises:
            Unsettled: It is not a sum of pieces.
        """
        raise NotImplementedError

    def _expand_one(self, node: int) -> Sum:
        graph, args, op = self.graph, self.graph.args[node], self.graph.ops[node]
        if node == self.leaf:
            return {(1, *self.plain[1:]): graph.one}
        if all(set(self.known[a]) <= {self.plain} for a in args):
            return {self.plain: node}
        if op == "add":
            return self._collect([item for a in args for item in self.known[a].items()])
        if op == "mul" or (op == "powi" and 0 < graph.data[node] <= self.max_power):
            factors = args if op == "mul" else args * graph.data[node]
            found = self.known[factors[0]]
            for a in factors[1:]:
                found = self._multiply(found, self.known[a])
            return found
        return self.expand_function(node)

    def _collect(self, items: list[tuple[Piece, int]]) -> Sum:
        out: dict[Piece, list[int]] = {}
        for piece, factor in items:
            out.setdefault(piece, []).append(factor)
        if len(out) > self.max_terms:
            raise TooLarge(f"{self.name} of more than {self.max_terms} terms")
        return {piece: self.graph.add(parts) for piece, parts in out.items()}

    def _multiply(self, left: Sum, right: Sum) -> Sum:
        return self._collect([
            (self.multiply_pieces(one, other), self.graph.mul((x, y)))
            for one, x in left.items() for other, y in right.items()
        ])  # fmt: skip


__all__ = ["Expansion", "Piece", "Sum"]
