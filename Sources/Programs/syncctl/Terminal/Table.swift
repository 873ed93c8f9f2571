import SyncProgram

/// A table for people. Its columns are as wide as their contents, and together no wider than the terminal.
struct Table {
    struct Column {
        let title: String
        /// Whether the column holds numbers, which are right-aligned.
        var isNumber = false
    }

    let columns: [Column]
    private var rows: [[String]] = []

    init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row.
    ///
    /// - Parameter cells: one text per column. They are escaped here, so that the widths match the output.
    mutating func add(_ cells: [String]) {
        rows.append(cells.map(TerminalText.escaped))
    }

    var isEmpty: Bool { rows.isEmpty }

    func print(to terminal: Terminal) {
        let widths = widths(within: terminal.width)
        terminal.say(terminal.bold("\(line(columns.map(\.title), widths))"))
        for row in rows { terminal.say("\(line(row, widths))") }
    }

    /// Returns the column widths. If the columns do not fit the terminal, the widest ones shrink.
    private func widths(within limit: Int) -> [Int] {
        var widths = columns.map { TerminalText.columns($0.title) }
        for row in rows {
            for (index, cell) in row.enumerated() { widths[index] = max(widths[index], TerminalText.columns(cell)) }
        }
        guard limit < Int.max else { return widths }
        let gaps = Self.gap.count * (columns.count - 1)
        var excess = widths.reduce(gaps, +) - limit
        while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
            widths[widest] > Self.narrowest
        {
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            let text = TerminalText.truncated(cell, to: widths[index])
            let padding = String(repeating: " ", count: max(0, widths[index] - TerminalText.columns(text)))
            if index > 0 { line += Self.gap }
            if columns[index].isNumber {
                line += padding + text
            } else {
                line += index == cells.count - 1 ? text : text + padding
            }
        }
        return line
    }

    private static let gap = "  "
    private static let narrowest = 6
}
