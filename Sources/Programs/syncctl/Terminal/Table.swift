import SyncProgram

/// A table for people. Its columns are as wide as their contents.
///
/// On a terminal, long values are cut so that a line fits the width, unless the terminal is too narrow for the number
/// of columns. Elsewhere, no column is wider than 40 characters, and a longer value is printed whole: only its own line
/// is longer.
struct Table {
    struct Column {
        let title: String
        /// Whether the column holds numbers, which are right-aligned.
        var isNumber = false
    }

    let columns: [Column]
    /// The rows that are not printed yet.
    private var rows: [[String]] = []
    /// The widths of the columns; nil until rows are printed.
    private var widths: [Int]?

    init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row.
    ///
    /// - Parameter cells: one text per column. They are escaped here, so that the widths match the output.
    mutating func add(_ cells: [String]) {
        rows.append(cells.map(TerminalText.escaped))
    }

    /// Whether no row was added.
    var isEmpty: Bool { rows.isEmpty && widths == nil }

    /// Prints the rows that were added since the last call, and forgets them.
    ///
    /// The first call prints the titles, and its rows determine the widths of the columns. A long list is printed in
    /// parts, so that it is never in memory as a whole.
    mutating func print(to terminal: Terminal) {
        let isFirst = widths == nil
        let widths = widths ?? widths(within: terminal.width)
        self.widths = widths
        let cuts = terminal.width < Int.max
        if isFirst { terminal.say(terminal.bold("\(line(columns.map(\.title), widths, cuts: cuts))")) }
        for row in rows { terminal.say("\(line(row, widths, cuts: cuts))") }
        rows = []
    }

    /// Returns the column widths. If the columns do not fit the terminal, the widest ones shrink.
    private func widths(within limit: Int) -> [Int] {
        var widths = columns.map { TerminalText.columns($0.title) }
        let widest = limit < Int.max ? Int.max : Self.widest
        for row in rows {
            for (index, cell) in row.enumerated() {
                widths[index] = max(widths[index], min(TerminalText.columns(cell), widest))
            }
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

    private func line(_ cells: [String], _ widths: [Int], cuts: Bool) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            let text = cuts ? TerminalText.truncated(cell, to: widths[index]) : cell
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
    /// The greatest width of a column without a terminal: one long value must not make every line long.
    private static let widest = 40
}
