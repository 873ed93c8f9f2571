import Foundation

/// The built programs, which are next to the test bundle.
enum BuiltProgram: String {
    case syncctl, syncd

    var path: String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: rawValue).path(percentEncoded: false)
    }
}
