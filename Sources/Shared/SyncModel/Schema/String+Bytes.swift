extension String {
    /// Whether both hold the same bytes: what `utf8.elementsEqual` says, without its iterators. `==` would take two forms of
    /// one character for the same.
    package func hasSameBytes(as other: String) -> Bool {
        let (mine, others) = (utf8, other.utf8)
        let left = mine.span
        let right = others.span
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }
}
