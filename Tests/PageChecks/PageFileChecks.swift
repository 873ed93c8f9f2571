package import LoopbackPage

/// Checks the files of a page for contents that its content security policy forbids, and for storage of data beyond the
/// browser's tab, which no policy forbids.
///
/// The policy forbids markup from text only in browsers that support trusted types.
package enum PageFileChecks {
    /// Returns the problems of the files, one sentence each.
    package static func problems(of files: [PageFile]) -> [String] {
        files.flatMap { file in
            let text = String(decoding: file.bytes, as: UTF8.self)
            var problems: [String] = []
            if text.firstMatch(of: /https?:|javascript:|["'(]\/\/|url\(|@import/) != nil {
                problems.append("refers to a remote resource")
            }
            if file.type.contains("html"),
                text.firstMatch(of: /<script(?![^>]*\ssrc=)|<style|\son[a-z]+=|\sstyle=/) != nil
            {
                problems.append("contains inline script or style")
            }
            if file.type.contains("javascript"),
                text.firstMatch(
                    of:
                        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|localStorage|indexedDB|\.cookie/
                )
                    != nil
            {
                problems.append(
                    "uses an API that builds markup or code from text, or stores data beyond the tab")
            }
            return problems.map { "\(file.path) \($0)" }
        }
    }
}
