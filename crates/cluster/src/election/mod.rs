//! An algorithm of the catalogue among the members who are up.
