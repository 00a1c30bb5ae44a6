//! The ad transform language of routes and access points.
