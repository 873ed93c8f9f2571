import Foundation

/// Where the built programs are: beside the bundle of the tests.
enum BuiltProgram: String {
    case syncctl, syncd

    var path: String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: rawValue).path(percentEncoded: false)
    }
}
