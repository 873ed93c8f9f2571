/// A parser of comma-separated values (RFC 4180).
///
/// Cells may be quoted, and quoted cells may contain commas, doubled quotation marks, and line breaks. Lines end with
/// CRLF or LF; a byte order mark is skipped. A row that breaks the rules is reported with its line. If it is not known
/// where the row ends, parsing continues on the line after the one on which it begins.
package struct CSVTable: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private var position: Int
    private var line = 1

    package struct Row: Hashable {
        /// The line on which the row begins, counted from 1.
        package let line: Int
        package let cells: [String]
    }

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = bytes.starts(with: InputLines.byteOrderMark) ? InputLines.byteOrderMark.count : 0
    }

    /// Returns the next row, or the reason why it is invalid. Skips blank lines; returns nil at the end of the input.
    package mutating func next() -> Result<Row, ImportError>? {
        skipBlankLines()
        guard position < bytes.count else { return nil }
        let start = (line: line, position: position)
        do throws(ImportError) {
            return try readCells(from: start).map { Row(line: start.line, cells: $0) }
        } catch {
            skipLine(from: start)
            return .failure(error)
        }
    }

    private mutating func skipBlankLines() {
        while position < bytes.count {
            if bytes[position] == Byte.lineFeed {
                line += 1
                position += 1
            } else if bytes[position] == Byte.carriageReturn, position + 1 < bytes.count,
                bytes[position + 1] == Byte.lineFeed
            {
                line += 1
                position += 2
            } else {
                return
            }
        }
    }

    /// Reads a row to its end.
    ///
    /// - Returns: a failure if the row has an end, but is too long or not UTF-8.
    /// - Throws: `ImportError` if its quotation marks leave open where it ends.
    private mutating func readCells(
        from start: (line: Int, position: Int)
    ) throws(ImportError) -> Result<[String], ImportError> {
        var cells: [String] = []
        var column = 0
        var problem: ImportError?
        while true {
            column += 1
            let cell =
                position < bytes.count && bytes[position] == Byte.quote ? try readQuoted(start) : try readPlain(start)
            if position - start.position > ImportLimits.rowBytes {
                problem =
                    problem
                    ?? ImportError(line: start.line, "the row is longer than \(ImportLimits.rowBytes) bytes")
            } else if let text = String(validating: cell, as: UTF8.self) {
                cells.append(text)
            } else {
                problem = problem ?? ImportError(line: start.line, "column \(column) is not UTF-8")
            }
            guard position < bytes.count, bytes[position] == Byte.comma else { break }
            position += 1
        }
        if position < bytes.count, bytes[position] == Byte.carriageReturn { position += 1 }
        if position < bytes.count {
            position += 1
            line += 1
        }
        return problem.map { .failure($0) } ?? .success(cells)
    }

    private mutating func readPlain(_ start: (line: Int, position: Int)) throws(ImportError) -> ArraySlice<UInt8> {
        let begin = position
        while position < bytes.count, bytes[position] != Byte.comma, !isLineEnd(position) {
            guard bytes[position] != Byte.quote else {
                throw ImportError(
                    line: start.line,
                    "an unquoted cell contains a quotation mark; quote the cell and double the mark"
                )
            }
            position += 1
        }
        return bytes[begin..<position]
    }

    private mutating func readQuoted(_ start: (line: Int, position: Int)) throws(ImportError) -> ArraySlice<UInt8> {
        var cell: [UInt8] = []
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == Byte.quote {
                guard position < bytes.count, bytes[position] == Byte.quote else {
                    guard position == bytes.count || bytes[position] == Byte.comma || isLineEnd(position) else {
                        throw ImportError(
                            line: start.line,
                            "text after a closing quotation mark; expected a comma or the end of the line")
                    }
                    return cell[...]
                }
                position += 1
            } else if byte == Byte.lineFeed {
                line += 1
            }
            // A cell that is too long is read to its end, but not kept.
            if cell.count <= ImportLimits.rowBytes { cell.append(byte) }
        }
        throw ImportError(line: start.line, "a quoted cell is not closed before the end of the file")
    }

    private func isLineEnd(_ index: Int) -> Bool {
        bytes[index] == Byte.lineFeed
            || bytes[index] == Byte.carriageReturn && index + 1 < bytes.count && bytes[index + 1] == Byte.lineFeed
    }

    /// Moves to the line after the one on which a broken row begins, because the rest of the input may be valid.
    private mutating func skipLine(from start: (line: Int, position: Int)) {
        let end = bytes[start.position...].firstIndex(of: Byte.lineFeed) ?? bytes.count
        position = Swift.min(end + 1, bytes.count)
        line = start.line + 1
    }

    private enum Byte {
        static let comma = UInt8(ascii: ",")
        static let quote = UInt8(ascii: "\"")
        static let lineFeed = UInt8(ascii: "\n")
        static let carriageReturn = UInt8(ascii: "\r")
    }
}
