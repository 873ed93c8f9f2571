package import LoopbackPage

/// Checks the files of a page for contents that its content security policy forbids.
package enum PageFileChecks {
    /// Returns the problems of the files, one sentence each.
    package static func problems(of files: [PageFile]) -> [String] {
        files.flatMap { file in
            let text = String(decoding: file.bytes, as: UTF8.self)
            var problems: [String] = []
            if text.firstMatch(of: /https?:|javascript:|["'(]\/\/|url\(|@import/) != nil {
                problems.append("loads something from elsewhere")
            }
            if file.type.contains("html"),
                text.firstMatch(of: /<script(?![^>]*\ssrc=)|<style|\son[a-z]+=|\sstyle=/) != nil
            {
                problems.append("has something inline")
            }
            if file.type.contains("javascript"),
                text.firstMatch(
                    of:
                        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|localStorage|indexedDB|\.cookie/
                )
                    != nil
            {
                problems.append("makes markup or code from text, or keeps something")
            }
            return problems.map { "\(file.path) \($0)" }
        }
    }
}
