extension String {
    /// Returns whether both strings hold the same bytes.
    ///
    /// The result is that of `utf8.elementsEqual`, without its iterators. `==` would treat canonically equivalent forms
    /// of a character as equal.
    package func hasSameBytes(as other: String) -> Bool {
        let (mine, others) = (utf8, other.utf8)
        let left = mine.span
        let right = others.span
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }
}
