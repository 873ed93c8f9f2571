package import SyncProgram

/// The part of a page that belongs to one command: its files, and the answers to the calls of its script.
package protocol PageApplication: Sendable {
    /// The calls of the page. The raw value is the last part of the path.
    associatedtype Call: RawRepresentable<String> & Sendable

    /// The command that serves the page, for messages, such as `syncctl inspect`.
    var command: String { get }

    /// The files of the page, one of which has the path `/`. They contain no data, and are served without the secret.
    var files: [PageFile] { get }

    /// Returns the result of a call.
    ///
    /// It is called concurrently.
    ///
    /// - Parameter ending: registers a closure that ends the wait of a call for news. It is called when the wait has
    ///   taken long enough, when the browser has closed the connection, or not at all.
    func answer(
        _ call: Call, _ arguments: PageArguments, ending: (@escaping @Sendable () -> Void) -> Void
    ) async throws(PageError) -> JSONLine
}

/// A file of a page.
package struct PageFile: Hashable, Sendable {
    /// The path of the file in the page's address.
    package let path: String
    package let type: String
    package let bytes: [UInt8]

    private init(path: String, type: String, bytes: [UInt8]) {
        self.path = path
        self.type = type
        self.bytes = bytes
    }

    package static func html(at path: String, _ bytes: [UInt8]) -> PageFile {
        PageFile(path: path, type: "text/html; charset=utf-8", bytes: bytes)
    }

    package static func style(at path: String, _ bytes: [UInt8]) -> PageFile {
        PageFile(path: path, type: "text/css; charset=utf-8", bytes: bytes)
    }

    package static func script(at path: String, _ bytes: [UInt8]) -> PageFile {
        PageFile(path: path, type: "text/javascript; charset=utf-8", bytes: bytes)
    }

    /// The style and the script that all pages share.
    package static var common: [PageFile] {
        [.style(at: "/page.css", PackageResources.page_css), .script(at: "/page.js", PackageResources.page_js)]
    }
}
