import SyncObjects
import TomboloModeling

extension ModelQuery {
    /// Returns the query for one page, as the community's providers number pages.
    func page(limit: Int?, offset: Int) -> ModelQuery {
        let rest = self.offset(offset)
        return limit.map { rest.limit($0) } ?? rest
    }
}
