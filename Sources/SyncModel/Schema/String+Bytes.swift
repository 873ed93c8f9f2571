extension String {
    /// Whether both hold the same bytes: what `utf8.elementsEqual` says, without its iterators. `==` would take two forms of
    /// one character for the same.
    package func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let answer = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                for index in left.indices where left[index] != right[index] { return false }
                return true
            }
        }
        return (answer ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}
