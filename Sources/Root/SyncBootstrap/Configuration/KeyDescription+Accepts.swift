extension KeyDescription {
    /// Whether the text is a valid value of this key.
    func accepts(_ text: String) -> Bool {
        switch kind {
        case .text: !text.isEmpty && !text.utf8.contains { $0 < 32 || $0 == 127 }
        case .path: !text.isEmpty && !text.utf8.contains(0)
        case .url: ServerAddress(text) != nil
        case .boolean: Bool(text) != nil
        case .choice(let words): words.contains(text)
        case .integer(let range, _): Int(text).map { range.contains($0) } ?? false
        case .duration(let range): DurationText(parsing: text).map { range.contains($0.duration) } ?? false
        }
    }
}
