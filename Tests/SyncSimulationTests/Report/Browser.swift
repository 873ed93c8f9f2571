import Foundation

/// Runs Chromium in headless mode.
enum Browser {
    static let path = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Opens a page and runs its script.
    ///
    /// - Parameters:
    ///   - place: The fragment of the URL, after the `#`.
    ///   - profile: The folder for the browser's profile. The output files are beside it.
    /// - Returns: The document after the script has run, and the lines of the browser's console.
    static func open(_ file: URL, at place: String, profile: URL) throws -> (
        document: String, consoleMessages: [String]
    ) {
        guard let path else { throw Failure(description: "there is no browser") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--user-data-dir=\(profile.path)", "--window-size=1400,900", "--enable-logging=stderr",
            "--virtual-time-budget=2000", "--timeout=20000", "--dump-dom", file.absoluteString + "#" + place,
        ]
        // The output goes to files, because a full pipe would block the browser.
        let (output, errors) = (profile.appendingPathExtension("html"), profile.appendingPathExtension("log"))
        for file in [output, errors] { try Data().write(to: file) }
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "\(path) ended with \(process.terminationStatus)")
        }
        let log = try String(contentsOf: errors, encoding: .utf8).split(separator: "\n").map(String.init)
        return (try String(contentsOf: output, encoding: .utf8), log.filter { $0.contains("CONSOLE") })
    }
}
