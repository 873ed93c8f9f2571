import Crypto

/// A recording as a self-contained HTML page with a space-time diagram of the run.
///
/// The page loads no other resources: its content security policy allows only its own script and style, by their
/// hashes. The recorded data is embedded as JSON and displayed only as text.
public struct HTMLReport: Sendable {
    private let recording: WorldRecording

    public init(_ recording: WorldRecording) {
        self.recording = recording
    }

    /// Returns the page, encoded in UTF-8.
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
        // A placeholder is a name between two "@" characters, which the template uses nowhere else.
        let pieces = PackageResources.report_html.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        for piece in pieces {
            page.append(contentsOf: parts[String(decoding: piece, as: UTF8.self)] ?? Array(piece))
        }
        return page
    }

    /// Returns a source expression for a content security policy that allows exactly these bytes.
    private static func source(allowing bytes: [UInt8]) -> String {
        "'sha256-\(Base64.encode(Array(SHA256.hash(data: bytes))))'"
    }
}

extension String {
    /// The text with HTML's special characters escaped.
    ///
    /// It works on scalars: a special character followed by a combining mark is one `Character`, and would still end an
    /// element.
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
