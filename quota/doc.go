// Package quota counts who uses how much and says when it is too much.
package quota
