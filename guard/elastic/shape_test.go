package elastic_test

import "testing"

// What lies in a shape lies in the box around it.
func TestShapesBoundGrids(t *testing.T) {
	grid := func(query string) string {
		return `{"size":0,"query":` + query + `,"aggs":{"g":{"geotile_grid":{"field":"at","precision":15}}}}`
	}
	shape := func(s string) string { return grid(`{"geo_shape":{"at":{"shape":` + s + `}}}`) }
	check(t, []scenario{
		{"a polygon", "POST /x/_search", shape(`{"type":"Polygon","coordinates":[[[13.3,52.4],[13.5,52.4],[13.5,52.6],[13.3,52.4]],[[13.4,52.45],[13.41,52.45],[13.4,52.46],[13.4,52.45]]]}`), ""},
		{"polygons", "POST /x/_search", shape(`{"type":"multipolygon","coordinates":[[[[13.3,52.4],[13.5,52.4],[13.5,52.6],[13.3,52.4]]],[[[13.6,52.4],[13.7,52.4],[13.7,52.6],[13.6,52.4]]]]}`), ""},
		{"polygons far apart", "POST /x/_search", shape(`{"type":"multipolygon","coordinates":[[[[13.3,52.4],[13.5,52.4],[13.5,52.6],[13.3,52.4]]],[[[-70,-40],[-69,-40],[-69,-39],[-70,-40]]]]}`), "geo_cells"},
		{"a collection", "POST /x/_search", shape(`{"type":"geometrycollection","geometries":[{"type":"point","coordinates":[13.4,52.5]},{"type":"linestring","coordinates":[[13.3,52.4],[13.5,52.6]]}]}`), ""},
		{"a collection with what is not known", "POST /x/_search", shape(`{"type":"geometrycollection","geometries":[{"type":"point","coordinates":[13.4,52.5]},{"type":"blob"}]}`), "geo_cells"},
		{"a circle", "POST /x/_search", shape(`{"type":"circle","coordinates":[13.4,52.5],"radius":"5km"}`), ""},
		{"a circle of unknown size", "POST /x/_search", shape(`{"type":"circle","coordinates":[13.4,52.5],"radius":"far"}`), "geo_cells"},
		{"nothing", "POST /x/_search", shape(`{"type":"polygon","coordinates":[]}`), "geo_cells"},
		{"text", "POST /x/_search", shape(`"MULTIPOLYGON (((13.3 52.4, 13.5 52.4, 13.5 52.6, 13.3 52.4)), ((13.6 52.4,13.7 52.4,13.7 52.6,13.6 52.4)))"`), ""},
		{"a collection in text", "POST /x/_search", shape(`"geometrycollection (POINT Z (13.4 52.5 100), LINESTRING (13.3 52.4, 13.5 +5.26E1))"`), ""},
		{"an envelope in text", "POST /x/_search", shape(`"ENVELOPE (13.3, 13.5, 52.6, 52.4)"`), ""},
		{"a large shape in text", "POST /x/_search", shape(`"POLYGON ((-10 35, 30 35, 30 60, -10 35))"`), "geo_cells"},
		{"a point without a second number", "POST /x/_search", shape(`"LINESTRING (13.3 52.4, 13.5)"`), "geo_cells"},
		{"no shape", "POST /x/_search", shape(`"POLYGON EMPTY"`), "geo_cells"},
		{"all but a shape", "POST /x/_search", grid(`{"geo_shape":{"at":{"shape":{"type":"envelope","coordinates":[[13.3,52.6],[13.5,52.4]]},"relation":"DISJOINT"}}}`), "geo_cells"},
		{"around a shape", "POST /x/_search", grid(`{"geo_shape":{"at":{"shape":{"type":"envelope","coordinates":[[13.3,52.6],[13.5,52.4]]},"relation":"contains"}}}`), "geo_cells"},
		{"within a shape", "POST /x/_search", grid(`{"geo_shape":{"at":{"shape":{"type":"envelope","coordinates":[[13.3,52.6],[13.5,52.4]]},"relation":"within"}}}`), ""},
		{"a shape that is kept elsewhere", "POST /x/_search", grid(`{"geo_shape":{"at":{"indexed_shape":{"index":"s","id":"1"}}}}`), "geo_cells"},
		{"a cell", "POST /x/_search", grid(`{"geo_grid":{"at":{"geohash":"u33db"}}}`), ""},
		{"a tile", "POST /x/_search", grid(`{"geo_grid":{"at":{"geotile":"9/275/167"}}}`), ""},
		{"a tile of a continent", "POST /x/_search", grid(`{"geo_grid":{"at":{"geotile":"2/2/1"}}}`), "geo_cells"},
		{"a hexagon", "POST /x/_search", grid(`{"geo_grid":{"at":{"geohex":"811fbffffffffff"}}}`), "geo_cells"},
	})
}
