import Crypto

/// A recording as one page that needs nothing but a browser: a space-time diagram of the run.
///
/// The page loads nothing and may load nothing: its policy allows only the script and the style that are in it, by
/// their hashes. What was recorded is in it as JSON, and reaches the screen as text alone.
public struct HTMLReport: Sendable {
    private let recording: WorldRecording

    public init(_ recording: WorldRecording) {
        self.recording = recording
    }

    /// The page, in UTF-8.
    public func write() -> [UInt8] {
        let style = PackageResources.report_css
        let script = PackageResources.report_js
        let parts: [String: [UInt8]] = [
            "TITLE": Array(recording.title.escapedForHTML.utf8),
            "STYLE-HASH": Array(Self.source(allowing: style).utf8),
            "SCRIPT-HASH": Array(Self.source(allowing: script).utf8),
            "STYLE": style,
            "SCRIPT": script,
            "DATA": ReportData(recording).write(),
        ]
        var page: [UInt8] = []
        // A mark is a name between two signs; the template has them nowhere else.
        let pieces = PackageResources.report_html.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        for piece in pieces {
            page.append(contentsOf: parts[String(decoding: piece, as: UTF8.self)] ?? Array(piece))
        }
        return page
    }

    /// A source expression of a content security policy that allows exactly these bytes.
    private static func source(allowing bytes: [UInt8]) -> String {
        "'sha256-\(Base64.encode(Array(SHA256.hash(data: bytes))))'"
    }
}

extension String {
    /// By scalars: a sign with a combining mark behind it is one character, and would still end an element.
    fileprivate var escapedForHTML: String {
        unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
